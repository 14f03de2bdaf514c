"""What `import grader` does where GRADER_GPU asks for something that cannot be had."""

import os
import subprocess
import sys

import pytest


@pytest.mark.parametrize(("asked", "says"), [("gpu", "must be 'sim'"), ("real", "PyTorch finds none here")])
def test_a_wish_that_cannot_be_met_is_one_sentence_and_exit_code_2(asked, says):
    environment = {**os.environ, "GRADER_GPU": asked, "CUDA_VISIBLE_DEVICES": ""}
    command = [sys.executable, "-c", "import grader"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stderr.startswith("grader: GRADER_GPU") and says in done.stderr
    assert "Traceback" not in done.stderr
