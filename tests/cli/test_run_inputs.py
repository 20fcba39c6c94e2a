"""Pictures and sounds as inputs, and outputs as people read them."""

from __future__ import annotations

import csv
import io
import json
import wave
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result
from PIL import Image

import dlasim
from dlasim import media
from dlasim.cli import main
from dlasim.errors import InputError
from dlasim.inputs import prepare_inputs
from dlasim.isa.file_records import DataType, Role
from dlasim.isa.program import TensorDescriptor
from dlasim.isa.registers import Region

LABELS = ["cat", "dog", "bird", "car", "ship", "truck", "frog", "deer", "horse", "plane"]


def call(*arguments: object) -> Result:
    return CliRunner().invoke(main, [str(argument) for argument in arguments], prog_name="dlasim")


def fails(message: str, *arguments: object) -> None:
    result = call(*arguments)
    assert result.exit_code == 2, result.output
    assert message in result.stderr
    assert result.stderr.count("\n") == 1


def tensor(
    shape: tuple[int, ...], kind: str = "int8", scale: float = 1 / 128, zero: int = 0
) -> TensorDescriptor:
    return TensorDescriptor("x", DataType[kind], Role.INPUT, Region.INPUTS, 0, 0, shape, scale, zero)


@pytest.fixture
def picture(tmp_path: Path) -> Path:
    pixels = np.random.default_rng(0).integers(0, 256, (32, 32, 3), dtype=np.uint8)
    Image.fromarray(pixels).save(tmp_path / "image.png")
    return tmp_path / "image.png"


@pytest.mark.parametrize(("scale", "zero"), [(1 / 128, 0), (1 / 255, -128), (1.0, -128)])
def test_auto_maps_bytes_to_the_range_of_the_type(picture: Path, scale: float, zero: int) -> None:
    """0 becomes the lowest int8 and 255 the highest, whatever the scale."""
    (array,) = prepare_inputs([tensor((1, 32, 32, 3), scale=scale, zero=zero)], [picture])
    expected = np.asarray(Image.open(picture)).astype(int) - 128
    assert (array[0] == expected).all()


def test_a_range_is_what_lowest_and_highest_become(picture: Path) -> None:
    pixels = np.asarray(Image.open(picture)).astype(np.float64)
    (array,) = prepare_inputs([tensor((1, 32, 32, 3), "float32", 0.0)], [picture], normalize="-1,1")
    np.testing.assert_allclose(array[0], pixels / 127.5 - 1, atol=1e-6)
    (array,) = prepare_inputs([tensor((1, 32, 32, 3), "float32", 0.0)], [picture], normalize="imagenet")
    np.testing.assert_allclose(array[0, ..., 2], (pixels[..., 2] / 255 - 0.406) / 0.225, atol=1e-6)


def test_a_picture_is_scaled_and_made_grey(tmp_path: Path) -> None:
    Image.new("RGB", (50, 90), (200, 200, 200)).save(tmp_path / "grey.jpg", quality=95)
    (array,) = prepare_inputs([tensor((1, 28, 28, 1))], [tmp_path / "grey.jpg"])
    assert abs(array.astype(int) - 72).max() <= 1


@pytest.mark.parametrize(("width", "kind"), [(1, "u1"), (2, "<i2"), (4, "<i4")])
def test_a_sound_is_its_samples(tmp_path: Path, width: int, kind: str) -> None:
    limits = np.iinfo(kind)
    samples = np.linspace(limits.min, limits.max, 256).astype(kind)
    with wave.open(str(tmp_path / "sound.wav"), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(width)
        file.setframerate(16_000)
        file.writeframes(samples.tobytes())
    (array,) = prepare_inputs([tensor((1, 256))], [tmp_path / "sound.wav"])
    assert (array[0] == np.arange(-128, 128)).all()
    with pytest.raises(InputError, match=r"input x takes 100 samples .* has 256"):
        prepare_inputs([tensor((1, 100))], [tmp_path / "sound.wav"])


@pytest.mark.parametrize("name", ["bad.png", "bad.jpg", "bad.wav"])
def test_a_damaged_file_is_one_line(tmp_path: Path, name: str, picture: Path) -> None:
    for data in (b"", b"RIFF", picture.read_bytes()[:300], bytes(range(256))):
        (tmp_path / name).write_bytes(data)
        with pytest.raises(InputError, match="is not a") as caught:
            prepare_inputs([tensor((1, 32, 32, 3))], [tmp_path / name])
        assert "\n" not in str(caught.value)


def test_a_damaged_picture_is_our_line_alone(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Also of one in another format than its name says, whose decoder prints messages."""
    path, data = tmp_path / "x.png", io.BytesIO()
    Image.fromarray(np.arange(1024, dtype=np.uint8).reshape(32, 32)).save(data, "tiff", compression="jpeg")
    damaged = data.getvalue().replace(b"\xff\xc4", b"\xff\xc3")
    for content, text in ((damaged, "decoder error -2"), (bytes(99), "cannot identify image file")):
        path.write_bytes(content)
        with pytest.raises(InputError) as caught:
            prepare_inputs([tensor((1, 28, 28, 1))], [path])
        assert str(caught.value) == f"{path} is not a valid picture: {text}"
    assert capfd.readouterr() == ("", "")


def test_a_palette_with_transparency_is_no_damage(tmp_path: Path) -> None:
    """Pillow warns of it."""
    pixels = Image.fromarray(np.arange(1024, dtype=np.uint8).reshape(32, 32)).convert("P")
    pixels.save(tmp_path / "x.png", transparency=bytes(9))
    pixels.save(tmp_path / "opaque.png")
    found, opaque = (
        prepare_inputs([tensor((1, 28, 28, 1))], [tmp_path / name])[0] for name in ("x.png", "opaque.png")
    )
    assert (found == opaque).all()


def test_a_picture_that_may_be_an_attack_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Image.new("L", (300, 300)).save(tmp_path / "large.png")
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 1000)
    with pytest.raises(
        InputError, match=r"large\.png is not a valid picture: Image size \(90000 pixels\) exceeds"
    ):
        prepare_inputs([tensor((1, 32, 32, 3))], [tmp_path / "large.png"])


def test_what_does_not_fit_is_said(picture: Path, tmp_path: Path) -> None:
    with pytest.raises(
        InputError, match=r"input x: a picture \(.*\) needs shape .* but the input has \[1, 640\]"
    ):
        prepare_inputs([tensor((1, 640))], [picture])
    with pytest.raises(InputError, match="normalize must be LOW,HIGH"):
        prepare_inputs([tensor((1, 32, 32, 3), "float32", 0.0)], [picture])
    with pytest.raises(InputError, match="imagenet normalizes three channels"):
        prepare_inputs([tensor((1, 28, 28, 1))], [picture], normalize="imagenet")
    for text in ("1", "a,b", "nan,1", "1,2,3", "0,inf"):
        with pytest.raises(InputError, match="normalize must be auto, imagenet, or LOW,HIGH"):
            media.parse_range(text)
    fails("missing.png", "run", "resnet8", "--input", tmp_path / "missing.png")


def test_outputs_are_named_real_and_announced(picture: Path, tmp_path: Path) -> None:
    (tmp_path / "labels.txt").write_text("\n".join(LABELS))
    result = call("run", "resnet8", "--input", picture, "--output", tmp_path / "out", "--dequantize",
                  "--top", 3, "--labels", tmp_path / "labels.txt", "--report", tmp_path / "layers.csv",
                  "--trace", tmp_path / "trace.json")  # fmt: skip
    assert result.exit_code == 0, result.output
    wanted = dlasim.run("resnet8", inputs=picture).real_outputs[0]
    written = np.load(tmp_path / "out" / "output_0.npy")
    assert written.dtype == np.float32
    assert (written == wanted).all()
    order = np.argsort(-wanted[0], kind="stable")[:3]
    shown = [line.split() for line in result.stdout.splitlines()[-3:]]
    assert [line[:2] for line in shown] == [[str(number), LABELS[number]] for number in order]
    for name in ("output_0.npy: probabilities, float32 [1, 10]", "layers.csv", "trace.json"):
        assert name in result.stderr
    with open(tmp_path / "layers.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["name"] for row in rows] == dlasim.explain("resnet8").column("name")
    assert all(int(row["cycles"]) > 0 for row in rows)


def test_classes_are_in_the_json(picture: Path) -> None:
    printed = json.loads(call("run", "resnet8", "--input", picture, "--top", 2, "--json").stdout)
    assert [set(entry) for entry in printed["classes"]] == [{"class", "value"}] * 2
    assert printed["classes"][0]["value"] >= printed["classes"][1]["value"]


def test_options_that_need_another(tmp_path: Path) -> None:
    (tmp_path / "labels.txt").write_text("one\ntwo\n")
    fails("--labels needs --top", "run", "mnist", "--labels", tmp_path / "labels.txt")
    fails("--dequantize needs --output", "run", "mnist", "--dequantize")
    fails("--normalize needs --input", "run", "mnist", "--normalize", "0,1")
    fails("cannot be combined with --input, --output or --top", "run", "mnist", "--top", 1, "--timing-only")
    fails(
        "has 10 values, but there are 2 labels",
        "run",
        "mnist",
        "--top",
        1,
        "--labels",
        tmp_path / "labels.txt",
    )
