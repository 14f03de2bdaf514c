"""Tensors of two devices in one operation: refused in PyTorch's words, but for what a GPU allows."""

import pytest
import torch
import torch.nn.functional as F

from grader.simgpu import mixing

X = lambda: torch.arange(3.0, device="cuda")  # noqa: E731
C = lambda: torch.ones(3)  # noqa: E731
SAME = "Expected all tensors to be on the same device, but "
TWO = SAME + "found at least two devices, cuda:0 and cpu!"


@pytest.mark.parametrize(
    "op",
    [
        lambda: X() + C(),
        lambda: C() * X(),
        lambda: X().add_(C()),
        lambda: C().add_(X()),
        lambda: X() == C(),
        lambda: torch.where(X() > 1, X(), C()),
        lambda: torch.lerp(X(), X(), C()),
        lambda: torch.add(X(), 1, out=C()),
        lambda: F.mse_loss(X(), C()),
        lambda: torch.allclose(X(), C()),
        lambda: torch.tensor(1.0).add_(X()[0]),
        lambda: torch._foreach_add([X()], [C()]),
    ],
)
def test_elementwise(op):
    with pytest.raises(RuntimeError) as e:
        op()
    assert str(e.value) == TWO


@pytest.mark.parametrize(
    ("op", "what"),
    [
        (lambda: torch.cat([X(), C()]), "got tensors is on cpu, different from other tensors on cuda:0"),
        (lambda: torch.stack([C(), X()]), "got tensors is on cuda:0, different from other tensors on cpu"),
        (lambda: torch.dot(X(), C()), "got tensor is on cpu, different from other tensors on cuda:0"),
        (
            lambda: X().view(1, 3) @ C().view(3, 1),
            "got mat2 is on cpu, different from other tensors on cuda:0",
        ),
        (lambda: torch.equal(X(), C()), "got other is on cpu, different from other tensors on cuda:0"),
        (
            lambda: torch.nn.Linear(3, 2)(X().view(1, 3)),
            "got mat1 is on cuda:0, different from other tensors on cpu",
        ),
        (lambda: F.embedding(torch.tensor([0], device="cuda"), torch.ones(2, 2)), "got index is on cuda:0"),
        (lambda: torch.einsum("i,j->ij", X(), C()), ""),
    ],
)
def test_the_argument_is_named(op, what):
    with pytest.raises(RuntimeError) as e:
        op()
    assert str(e.value).startswith(SAME + what)


def test_convolutions_have_their_own_words():
    with pytest.raises(
        RuntimeError, match=r"Input type \(torch.cuda.FloatTensor\) and weight type \(torch.FloatTensor\)"
    ):
        torch.nn.Conv1d(1, 1, 2)(X().view(1, 1, 3))


@pytest.mark.parametrize(
    ("op", "value"),
    [
        (lambda: X() * torch.tensor(2.0), [0, 2, 4]),
        (lambda: torch.tensor(2.0) - X(), [2, 1, 0]),
        (lambda: X().mul_(torch.tensor(3.0)), [0, 3, 6]),
        (lambda: torch.where(X() > 1, X(), torch.tensor(9.0)), [9, 9, 2]),
        (lambda: X()[torch.tensor([2, 0])], [2, 0]),
        (lambda: X()[C() > 0], [0, 1, 2]),
        (lambda: X().copy_(C()), [1, 1, 1]),
        (lambda: X().fill_(torch.tensor(4.0)), [4, 4, 4]),
    ],
)
def test_allowed(op, value):
    result = op()
    assert result.is_cuda and result.tolist() == value


def test_assignment_across_devices():
    x, c = X(), C()
    x[1:] = torch.tensor([7.0, 8.0])
    x[0] = torch.tensor(5.0)
    c[:] = x
    assert x.tolist() == c.tolist() == [5, 7, 8]
    assert not c.is_cuda
    with pytest.raises(RuntimeError, match=TWO):
        x[torch.tensor([0, 1], device="cuda")] = torch.tensor([1.0, 2.0])


def test_a_host_tensor_may_not_be_indexed_from_the_device():
    with pytest.raises(
        RuntimeError, match="indices should be either on cpu or on the same device as the indexed tensor"
    ):
        C()[torch.tensor([0], device="cuda")]


def test_shapes_are_checked_before_devices():
    with pytest.raises(
        RuntimeError, match=r"The size of tensor a \(3\) must match the size of tensor b \(4\)"
    ):
        X() + torch.ones(4)


def test_a_refused_operation_changes_nothing():
    x, c = X(), C()
    for op in (lambda: x.add_(c), lambda: c.add_(x)):
        with pytest.raises(RuntimeError):
            op()
    assert x.tolist() == [0, 1, 2] and c.tolist() == [1, 1, 1]


@pytest.mark.parametrize(
    ("image", "weight", "words"),
    [
        (torch.ones(1, 1, 3), "cuda", SAME + "got weight is on cuda:0, different from other tensors on cpu"),
        (
            torch.ones(4, 1, 8),
            "cuda",
            r"Input type (torch.FloatTensor) and weight type (torch.cuda.FloatTensor)",
        ),
        (
            torch.ones(4, 1, 8),
            "cpu",
            r"Input type (torch.cuda.FloatTensor) and weight type (torch.FloatTensor)",
        ),
    ],
)
def test_the_words_of_convolutions_depend_on_the_backend(image, weight, words):
    conv = torch.nn.Conv1d(1, 1, 2, device=weight)
    with pytest.raises(RuntimeError) as e:
        conv(image if weight == "cuda" else image.cuda())
    assert str(e.value).startswith(words)


def test_clamping_takes_no_tensor_of_the_host():
    with pytest.raises(RuntimeError, match="got min is on cpu.*method wrapper_CUDA_clamp_Tensor"):
        X().clamp(torch.tensor(1.0), torch.tensor(2.0))
    assert X().clamp(1, 2).tolist() == [1, 1, 2]


def test_lengths_of_packed_sequences_stay_on_the_host():
    rnn = torch.nn.utils.rnn
    x = torch.arange(6.0, device="cuda").view(2, 3, 1)
    packed = rnn.pack_padded_sequence(x, torch.tensor([3, 2]), batch_first=True)
    assert packed.data.is_cuda and not packed.batch_sizes.is_cuda
    padded, lengths = rnn.pad_packed_sequence(packed, batch_first=True)
    assert padded.flatten().tolist() == [0, 1, 2, 3, 4, 0] and not lengths.is_cuda
    with pytest.raises(
        RuntimeError, match="'lengths' argument should be a 1D CPU int64 tensor, but got 1D cuda:0"
    ):
        rnn.pack_padded_sequence(x, torch.tensor([3, 2], device="cuda"), batch_first=True)


def test_targets_of_ctc_loss_may_be_on_the_host():
    scores = torch.zeros(3, 1, 2, device="cuda").log_softmax(2)
    loss = F.ctc_loss(scores, torch.tensor([[1]]), torch.tensor([3]), torch.tensor([1]))
    assert loss.is_cuda and loss.item() > 0


def test_what_a_function_makes_for_itself_is_not_the_hosts():
    def composite(x, number):  # in C++ the device of `made` would be x's
        made = torch.ones(3).cumsum(0)
        return (x + made) * number

    result = mixing.run(composite, (X(), torch.tensor(2.0)), {})
    assert result.is_cuda and result.tolist() == [2, 6, 10]
