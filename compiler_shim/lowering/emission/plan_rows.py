"""The nodes and segments of a plan as emission reads them, made of the plan's records by one routine."""

from __future__ import annotations

from dlasim.compiler_shim.lowering.addresses.packed_records import PackedNode, PackedSegment
from dlasim.compiler_shim.lowering.emission.operations import set_box
from dlasim.compiler_shim.lowering.emission.records import (
    COMPUTATIONS,
    EmittedSegment,
    Load,
    Node,
    NodeFacts,
    Piece,
)
from dlasim.compiler_shim.lowering.tiles.known_tilings import NONE
from dlasim.compiler_shim.lowering.tiles.tile_records import BUFFERS
from dlasim.native.record import Record, Records, pointer
from dlasim.native.routine import Numbers, Routine, inlined, routine


class PlanRows(Record):
    """A plan as its records say it, and the rows that follow from it.

    By place a node has its step in `numbers`, and by step the node before whose constants are the same, if
    any, in `alike`; of its constants as many pieces as `placed_counts` says, the
    first, have `placed_addresses`, all of them where a plan `places_constants`; with `batch_bytes` these come
    in batches of about so many, each while segments that need the one before compute. Segments up to each of
    `run_ends` are a stream. `parts` are segments, with `loads` after them,
    and whether they `load_first`.

    Found are `nodes` by step, the pieces, of which there may be more than `piece_room`; the step with which
    `tiles` are more than `most_tiles`, if any; the `rows` of segments, each stream with its end; and `kept`
    constants, as loads. `operations` are those of all rows, and
    the most of a task.
    """

    place_count: int = 0
    part_count: int = 0
    run_count: int = 0
    load_count: int = 0
    placed_count: int = 0
    load_first_count: int = 0
    places_constants: int = 0
    batch_bytes: int = 0
    most_tiles: int = 0
    piece_room: int = 0
    numbers: Numbers = pointer(int)
    facts: Records[NodeFacts] = pointer(NodeFacts)
    alike: Numbers = pointer(int)
    packed: Records[PackedNode] = pointer(PackedNode)
    parts: Records[PackedSegment] = pointer(PackedSegment)
    run_ends: Numbers = pointer(int)
    placed_counts: Numbers = pointer(int)
    placed_addresses: Numbers = pointer(int)
    loads: Records[Load] = pointer(Load)
    load_first: Numbers = pointer(int)
    nodes: Records[Node] = pointer(Node)
    pieces: Records[Piece] = pointer(Piece)
    rows: Records[EmittedSegment] = pointer(EmittedSegment)
    kept: Records[Load] = pointer(Load)
    piece_count: int = 0
    tiles: int = 0
    crowded_step: int = 0
    kept_count: int = 0
    newest_batch: int = 0
    next_kept: int = 0
    row_count: int = 0
    next_load: int = 0
    puts_off: int = 0
    operations: int = 0
    most_operations: int = 0


@routine
def list_rows(plan: PlanRows) -> int:
    """Make the nodes, and the rows if there is room for all pieces; returns whether there is."""
    _list_nodes(plan)
    if plan.piece_count > plan.piece_room:
        return 0
    plan.row_count = plan.next_load = plan.puts_off = part = 0
    plan.newest_batch = plan.next_kept = 0
    if plan.kept_count and not plan.batch_bytes:
        _list_kept(plan)
    for run in range(plan.run_count):
        while part < plan.part_count and plan.parts[part].place < plan.run_ends[run]:
            if plan.batch_bytes:
                _list_batches(plan, plan.parts[part])
            _list_part(plan, part)
            part += 1
        _begin_row(plan)
    last = _begin_row(plan)
    last.tasks = 0
    _count_operations(plan)
    return 1


ROWS = Routine(list_rows, "rows")


@routine
def _list_nodes(plan: PlanRows) -> None:
    """Nodes, and the addresses of their pieces. Nodes whose constants are the same, and cut alike, share
    them, unless they are loaded early for one of them alone."""
    plan.piece_count, plan.tiles, plan.crowded_step, plan.kept_count, given = 0, 0, NONE, 0, 0
    for place in range(plan.place_count):
        step, packed = plan.numbers[place], plan.packed[place]
        node, facts = plan.nodes[step], plan.facts[step]
        placed = plan.placed_counts[place] if place < plan.placed_count else 0
        _fill_in(node, packed)
        node.step, node.prefetched = step, placed
        node.places_constants = plan.places_constants if placed else 0
        alike = _find_alike(plan, node) if plan.places_constants or placed == 0 else NONE
        if alike != NONE:
            node.first_constant = plan.nodes[alike].first_constant
        else:
            node.first_constant = plan.piece_count
            _list_constants(plan, node, facts, placed, given)
            if node.places_constants:
                kept, plan.kept_count = plan.kept[plan.kept_count], plan.kept_count + 1
                kept.step, kept.task, kept.first, kept.pieces = step, 0, 0, placed
        given += placed
        plan.tiles += packed.tasks * _repeats(node, facts)
        if plan.tiles > plan.most_tiles and plan.crowded_step == NONE:
            plan.crowded_step = step


@routine
def _list_constants(plan: PlanRows, node: Node, facts: NodeFacts, placed: int, given: int) -> None:
    """The pieces of a node's constants, of which some are placed, at addresses from one on."""
    groups = -(-facts.constant_channels // max(node.tile.channels, 1))
    plan.piece_count += groups * -(-facts.constant_depth // max(node.tile.depth, 1))
    for number in range(node.first_constant, min(plan.piece_count, plan.piece_room)):
        piece, early = plan.pieces[number], number - node.first_constant
        piece.offset, piece.address, piece.coded_words, piece.coded_steps = NONE, 0, 0, 0
        if early < placed:
            piece.address = plan.placed_addresses[given + early]


@routine
def _fill_in(node: Node, packed: PackedNode) -> None:
    """How a node is cut, and its buffers, which nothing has filled."""
    node.tile.assign(packed.tile)
    node.problem, node.between_address = packed.problem, packed.between_address
    for number in range(BUFFERS):
        node.buffers[number].assign(packed.buffers[number])
        fill = node.fills[number]
        fill.count = fill.address = 0
        set_box(fill.box, 0, 0, 0, 0, 0, 0)


@routine
def _find_alike(plan: PlanRows, node: Node) -> int:
    """The last node before with the same constants, cut alike; NONE for none."""
    found, tile = plan.alike[node.step], node.tile
    while found != NONE:
        other = plan.nodes[found].tile
        if other.channels == tile.channels and other.depth == tile.depth:
            return found
        found = plan.alike[found]
    return NONE


@inlined
def _repeats(node: Node, facts: NodeFacts) -> int:
    """How often a task's computation is repeated: once for each channel, or once in all."""
    return max(node.tile.channels, 1) if facts.is_channel_by_channel else 1


@routine
def _list_kept(plan: PlanRows) -> None:
    """Rows for the constants that stay in SRAM, and their end."""
    row = _begin_row(plan)
    row.loads = plan.kept_count
    for number in range(plan.kept_count):
        row.operations += plan.kept[number].pieces
    _begin_row(plan)


@routine
def _list_batches(plan: PlanRows, part: PackedSegment) -> None:
    """Rows for batches of constants before a segment: up to those of its nodes, and one more."""
    end = plan.numbers[part.place] + part.nodes
    while plan.next_kept < plan.kept_count and (
        plan.next_kept == 0 or plan.kept[plan.newest_batch].step < end
    ):
        row, first = _begin_row(plan), _kept_address(plan, plan.next_kept)
        row.operations, row.is_load_first, plan.puts_off = 0, 1, 1
        row.first_load = plan.newest_batch = plan.next_kept
        while plan.next_kept < plan.kept_count and (
            _kept_address(plan, plan.next_kept) - first < plan.batch_bytes
        ):
            row.operations += plan.kept[plan.next_kept].pieces
            plan.next_kept += 1
        row.loads = plan.next_kept - row.first_load


@inlined
def _kept_address(plan: PlanRows, number: int) -> int:
    """Where the constants of a load are in SRAM."""
    return plan.pieces[plan.nodes[plan.kept[number].step].first_constant].address


@routine
def _begin_row(plan: PlanRows) -> EmittedSegment:
    """The next row, without anything yet: one that ends a stream."""
    row, plan.row_count = plan.rows[plan.row_count], plan.row_count + 1
    row.step = row.nodes = row.groups = row.stripe_rows = row.first_load = row.loads = row.is_load_first = 0
    row.tasks = row.operations = 1
    return row


@routine
def _list_part(plan: PlanRows, number: int) -> None:
    """List a segment with its loads for later tasks. A task is no more than the row's operations, with all
    these loads. Where the segment is to load first, tasks that follow may load before a task computes."""
    part, repeats, is_single = plan.parts[number], 0, 1
    step = plan.numbers[part.place]
    for each in range(step, step + part.nodes):
        own = _repeats(plan.nodes[each], plan.facts[each])
        repeats, is_single = repeats + own, is_single if own == 1 else 0
    row = _begin_row(plan)
    row.step, row.nodes, row.tasks = step, part.nodes, part.rounds
    row.operations = plan.facts[step].sizes.input_count + 2 + repeats
    if part.nodes > 1:
        row.groups, row.stripe_rows = part.groups, part.stripe_rows
        row.operations = repeats + 4 * part.nodes + 1
    row.first_load = plan.next_load
    while plan.next_load < plan.load_count and plan.loads[plan.next_load].segment == number:
        row.operations += plan.loads[plan.next_load].pieces
        plan.next_load += 1
    row.loads = plan.next_load - row.first_load
    if is_single and number < plan.load_first_count and plan.load_first[number]:
        row.is_load_first = plan.puts_off = 1


@routine
def _count_operations(plan: PlanRows) -> None:
    """Computations and stores that were put off come on top of those of a task."""
    plan.operations = plan.most_operations = 0
    for number in range(plan.row_count):
        row = plan.rows[number]
        if plan.puts_off:
            row.operations += 2 * COMPUTATIONS
        plan.operations += row.tasks * row.operations
        plan.most_operations = max(plan.most_operations, row.operations)
