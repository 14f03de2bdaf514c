"""The slider calls the function with its value and shows what it gives."""

import pytest
import torch

from grader.display.explore import explore


def test_each_move_calls_the_function_once_and_draws_anew():
    x, calls = torch.linspace(0, 1, 5, device="cuda"), []

    def scaled(x, by):
        calls.append(by)
        return x * by

    slider, image = explore(scaled, x, by=(1.0, 3.0)).children
    assert calls == [1.0] and (slider.min, slider.max, slider.description) == (1.0, 3.0, "by")
    first = bytes(image.value)
    assert first.startswith(b"\x89PNG")
    slider.value = 2.5
    assert calls == [1.0, 2.5]
    assert bytes(image.value) != first


@pytest.mark.parametrize("keywords", [{}, {"a": (0, 1), "b": (0, 1)}])
def test_it_takes_one_keyword(keywords):
    with pytest.raises(TypeError, match="one keyword with its range"):
        explore(lambda x: x, torch.zeros(2), **keywords)
