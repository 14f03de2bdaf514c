"""non_blocking both ways: what flies, what is staged, and what the host may see of it."""

import gc

import numpy as np
import pytest
import torch

CUDA = torch.cuda
NAP = 10_000_000


def ones(n=4, **kw):
    return torch.ones(n, device="cuda", **kw)


# ------------------------------------------------------------------ downloads


def test_a_pinned_download_arrives_when_the_host_has_waited(findings):
    h, x = torch.full((4,), -1.0).pin_memory(), ones() * 5
    array = h.numpy()
    assert h.copy_(x, non_blocking=True) is h
    assert array.tolist() == [-1.0] * 4 and not findings  # NumPy's reads cannot be seen
    CUDA.current_stream().synchronize()
    assert array.tolist() == h.tolist() == [5.0] * 4 and not findings and type(h) is torch.Tensor


@pytest.mark.parametrize(
    "read",
    [
        lambda h: h.tolist(), lambda h: h.sum().item(), lambda h: h[0].item(), lambda h: repr(h),
        lambda h: bool(h.eq(5).all()), lambda h: h.clone(), lambda h: h.view(2, 2).sum(), lambda h: h + 1,
        lambda h: float(h[1]), lambda h: torch.cat([h, h]), lambda h: [float(v) for v in h],
        lambda h: h.detach().numpy().sum(),
    ],
)  # fmt: skip
def test_reading_a_download_early_is_found(read, findings):
    h = torch.zeros(4).pin_memory()
    h.copy_(ones(), non_blocking=True)
    read(h)
    assert [f.kind for f in findings] == ["host_read_early"]
    CUDA.synchronize()
    read(h)
    assert len(findings) == 1


@pytest.mark.parametrize(
    "change", [lambda h: h.fill_(3), lambda h: h.__setitem__(0, 3.0), lambda h: h.add_(1)]
)
def test_changing_the_target_of_a_download_early_is_found(change, findings):
    h = torch.zeros(4).pin_memory()
    h.copy_(ones(), non_blocking=True)
    change(h)
    assert "host_write_early" in [f.kind for f in findings]


def test_looking_at_shapes_is_not_reading(findings):
    h = torch.zeros(4).pin_memory()
    h.copy_(ones(), non_blocking=True)
    assert (h.shape, h.dtype, h.is_pinned(), h.device.type, len(h)) == ((4,), torch.float32, True, "cpu", 4)
    h.view(2, 2)
    assert not findings


def test_to_the_host_without_blocking_pins_its_own_result(findings):
    h = (ones() * 5).to("cpu", non_blocking=True)
    assert h.is_pinned() and h.tolist() != [5.0] * 4
    assert [f.kind for f in findings] == ["host_read_early"]
    CUDA.synchronize()
    assert h.tolist() == [5.0] * 4


@pytest.mark.parametrize(
    "download",
    [
        lambda x: torch.zeros(4).copy_(x, non_blocking=True),  # pageable: staged
        lambda x: torch.zeros(4, dtype=torch.float64).pin_memory().copy_(x, non_blocking=True),  # converted
        lambda x: torch.zeros(4, 2).pin_memory()[:, 0].copy_(x, non_blocking=True),  # scattered
        lambda x: x.to("cpu", torch.float64, non_blocking=True),
        lambda x: torch.zeros(4).pin_memory().copy_(x),  # blocking
    ],
)
def test_other_downloads_are_done_when_they_return(download, findings):
    x = ones() * 5
    CUDA._sleep(NAP)
    h = download(x)
    assert h.tolist() == [5.0] * 4 and CUDA.current_stream().query() and not findings


def test_an_array_over_pinned_memory_is_pinned(findings):
    h = torch.full((8,), -1.0).pin_memory()
    half = torch.from_numpy(h.numpy()[4:])
    assert half.is_pinned() and half.untyped_storage().is_pinned() and not torch.ones(2).is_pinned()
    half.copy_(ones() * 5, non_blocking=True)
    assert h.numpy().tolist() == [-1.0] * 8
    CUDA.synchronize()
    assert h.tolist() == [-1.0] * 4 + [5.0] * 4 and not findings


# ------------------------------------------------------------------ uploads


@pytest.mark.parametrize(
    "change", [lambda h: h.fill_(7), lambda h: h.numpy().fill(7), lambda h: h.copy_(torch.full((4,), 7.0))]
)
def test_changing_a_pinned_source_early_uploads_the_new_contents(change, findings):
    h = torch.ones(4).pin_memory()
    CUDA._sleep(NAP)
    x = h.to("cuda", non_blocking=True)
    y = x + 1
    change(h)
    CUDA.synchronize()
    assert x.tolist() == [7.0] * 4 and y.tolist() == [8.0] * 4
    assert {f.kind for f in findings} == {"host_write_early"}


def test_after_waiting_the_source_is_the_learners_again(findings):
    h, x = torch.ones(4).pin_memory(), torch.zeros(4, device="cuda")
    x.copy_(h, non_blocking=True)
    CUDA.current_stream().record_event().synchronize()
    h.fill_(7)
    assert x.tolist() == [1.0] * 4 and not findings


@pytest.mark.parametrize(
    "upload",
    [
        lambda h: h.to("cuda"),
        lambda h: h.cuda(),
        lambda h: torch.zeros(4, device="cuda").copy_(h),
        lambda h: h.to("cuda", torch.float64, non_blocking=True),  # converted on the host first
    ],
)
def test_other_uploads_are_done_with_their_source(upload, findings):
    h = torch.ones(4).pin_memory()
    x = upload(h)
    h.fill_(7)
    CUDA.synchronize()
    assert x.tolist() == [1.0] * 4 and not findings


def test_pinned_memory_that_dies_is_not_pinned_any_more():
    h = torch.ones(4).pin_memory()
    alias = torch.from_numpy(h.numpy())
    assert alias.is_pinned()
    del h, alias
    gc.collect()
    assert not torch.from_numpy(np.ones(4, dtype=np.float32)).is_pinned()


# ------------------------------------------------------------------ pinning


def test_what_can_be_pinned():
    with pytest.raises(RuntimeError, match="cannot pin 'torch.cuda.FloatTensor' only dense CPU tensors"):
        ones().pin_memory()
    with pytest.raises(RuntimeError, match="cpu device type not an accelerator"):
        torch.ones(2).pin_memory("cpu")
    assert not torch.empty(0, pin_memory=True).is_pinned()
    assert torch.eye(2).to_sparse().pin_memory().is_pinned() and not torch.eye(2).to_sparse().is_pinned()


# ------------------------------------------------------------------ gradients


def test_gradients_pass_through_copies(side):
    h = torch.ones(4).pin_memory().requires_grad_()
    x = h.to("cuda", non_blocking=True)
    with CUDA.stream(side):
        side.wait_stream(CUDA.default_stream())
        y = (x * 3).to("cpu", non_blocking=True)
    CUDA.synchronize()
    y.sum().backward()
    assert h.grad.tolist() == [3.0] * 4
