/* RESIZE_NEAREST and RESIZE_BILINEAR: the compiler has tabulated which pixels of the input go where. */
#include "call.h"
#include "fixed_point.h"
#include "soft_float.h"
#include "string.h"

/* The pixel nearest to an entry of the tables: programs written by hand may point outside the image. */
static inline int32_t inside(int32_t position, uint32_t size) { return clamp(position, 0, (int32_t)size - 1); }

enum status resize_nearest(const struct call *call)
{
    struct tensor input = call_input(call, 0), output = call_output(call, 0);
    const int32_t *rows = call_input(call, 1).data, *columns = call_input(call, 2).data;
    uint32_t pixel_bytes = channels_of(&input) * input.element_bytes;
    uint32_t row_bytes = width_of(&input) * pixel_bytes, image_bytes = height_of(&input) * row_bytes;
    const uint8_t *image = input.data;
    uint8_t *target = output.data;
    for (uint32_t batch = 0; batch < batches_of(&output); batch++, image += image_bytes)
        for (uint32_t row = 0; row < height_of(&output); row++) {
            const uint8_t *source = image + (uint32_t)inside(rows[row], height_of(&input)) * row_bytes;
            for (uint32_t column = 0; column < width_of(&output); column++, target += pixel_bytes)
                memcpy(target, source + (uint32_t)inside(columns[column], width_of(&input)) * pixel_bytes, pixel_bytes);
        }
    return OK;
}

/* A row or column of the result: the two of the input that it lies between, and how near to the upper. */
struct place {
    int32_t lower, upper;
    int32_t fraction;
};

enum { ONE = 1 << DLA_HOST_RESIZE_FRACTION_BITS };

static struct place limit(struct place place, uint32_t size)
{
    return (struct place){ inside(place.lower, size), inside(place.upper, size), clamp(place.fraction, 0, ONE) };
}

static inline int32_t blend(int32_t lower, int32_t upper, int32_t fraction)
{
    return lower * (ONE - fraction) + upper * fraction;
}

static void blend_pixel(
    int8_t *output, const int8_t *first_row, const int8_t *second_row, int32_t row_fraction, struct place column,
    int32_t channels)
{
    const int8_t *corners[] = {
        first_row + column.lower * channels, first_row + column.upper * channels,
        second_row + column.lower * channels, second_row + column.upper * channels,
    };
    const int32_t half = ONE * ONE / 2;
    for (int32_t channel = 0; channel < channels; channel++) {
        int32_t left = blend(corners[0][channel], corners[2][channel], row_fraction);
        int32_t right = blend(corners[1][channel], corners[3][channel], row_fraction);
        int32_t sum = blend(left, right, column.fraction);
        output[channel] = clamp_to_int8((sum < 0 ? sum - half : sum + half) / (ONE * ONE));
    }
}

enum status resize_bilinear(const struct call *call)
{
    struct tensor input = call_input(call, 0), output = call_output(call, 0);
    const struct place *rows = call_input(call, 1).data, *columns = call_input(call, 2).data;
    int32_t channels = channels_of(&input), row_bytes = width_of(&input) * channels;
    const int8_t *image = input.data;
    int8_t *target = output.data;
    for (uint32_t batch = 0; batch < batches_of(&output); batch++, image += height_of(&input) * row_bytes)
        for (uint32_t row = 0; row < height_of(&output); row++) {
            struct place place = limit(rows[row], height_of(&input));
            const int8_t *first = image + place.lower * row_bytes, *second = image + place.upper * row_bytes;
            for (uint32_t column = 0; column < width_of(&output); column++, target += channels)
                blend_pixel(target, first, second, place.fraction, limit(columns[column], width_of(&input)), channels);
        }
    return OK;
}

enum { BYTE_OFFSET = 128, MAX_BYTE = 255 };

/* A pixel's number; int8 stands for a byte. */
static inline float number_at(const struct tensor *image, int32_t position)
{
    if (image->element_bytes == 1)
        return (float)(((const int8_t *)image->data)[position] + BYTE_OFFSET);
    return ((const float *)image->data)[position];
}

/* What is no number, or too large, has been made 0 or the end of the range of int64_t. */
static inline int32_t byte_of(int64_t number)
{
    return number < 0 ? 0 : number > MAX_BYTE ? MAX_BYTE : (int32_t)number;
}

static void put_number(const struct tensor *image, uint32_t position, float number)
{
    if (image->element_bytes == 1)
        ((int8_t *)image->data)[position] = (int8_t)(byte_of(truncate(number + 0.5f)) - BYTE_OFFSET);
    else
        ((float *)image->data)[position] = number;
}

/* The sum of four products from left to right, one column after the other, as TensorFlow adds them. */
enum status resize_float(const struct call *call)
{
    struct tensor input = call_input(call, 0), output = call_output(call, 0);
    const struct place *rows = call_input(call, 1).data, *columns = call_input(call, 2).data;
    int32_t channels = (int32_t)channels_of(&input), width = (int32_t)width_of(&input);
    int32_t height = (int32_t)height_of(&input);
    uint32_t target = 0;
    for (int32_t batch = 0; batch < (int32_t)batches_of(&output); batch++)
        for (uint32_t row = 0; row < height_of(&output); row++) {
            int32_t low = (batch * height + inside(rows[row].lower, height)) * width;
            int32_t high = (batch * height + inside(rows[row].upper, height)) * width;
            float down = float_of((uint32_t)rows[row].fraction), up = 1 - down;
            for (uint32_t column = 0; column < width_of(&output); column++) {
                int32_t left = inside(columns[column].lower, width), right = inside(columns[column].upper, width);
                float across = float_of((uint32_t)columns[column].fraction), back = 1 - across;
                for (int32_t channel = 0; channel < channels; channel++) {
                    float sum = number_at(&input, (low + left) * channels + channel) * up * back;
                    sum += number_at(&input, (high + left) * channels + channel) * down * back;
                    sum += number_at(&input, (low + right) * channels + channel) * up * across;
                    sum += number_at(&input, (high + right) * channels + channel) * down * across;
                    put_number(&output, target++, sum);
                }
            }
        }
    return OK;
}
