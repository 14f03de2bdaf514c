"""Random programs on slices of one tensor, against an account of them worked out apart."""

import pytest
import torch

from grader.simgpu import order
from tests.simgpu_order.oracle import STREAMS, Account, Op, draw


def run(base, program):
    x = torch.tensor(base, device="cuda")
    streams = [torch.cuda.default_stream(), *(torch.cuda.Stream() for _ in range(STREAMS - 1))]
    torch.cuda.synchronize()

    def view(elements):
        step = elements[1] - elements[0] if len(elements) > 1 else 1
        return x[elements[0] : elements[-1] + 1 : step]

    for p in program:
        if not isinstance(p, Op):
            streams[p.waiting].wait_stream(streams[p.awaited])
            continue
        with torch.cuda.stream(streams[p.stream]):
            source, target = view(p.source), view(p.target)
            if p.in_place:
                target.add_(source, alpha=p.factor)
            else:
                torch.add(source, source, alpha=p.factor, out=target)
    torch.cuda.synchronize()
    return x.tolist()


@pytest.mark.parametrize(("count", "waits"), [(3, 0.2), (4, 0.3), (8, 0.6), (16, 0.8)])
def test_found_exactly_where_something_races_with_the_values_of_late_work(count, waits):
    accounts = quiet = 0
    for seed in range(60):
        base, program = draw(seed, count, waits)
        account = Account(base, program)
        with order.collect() as found:
            left = run(base, program)
        assert bool(found) == account.racy, (seed, program)
        if account.left is not None:
            assert left == account.left, (seed, program)
            accounts += 1
        quiet += not account.racy
    assert accounts >= 15
    assert quiet or count > 8
