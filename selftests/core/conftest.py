"""What the tests of the core share."""

import pytest
from hypothesis import settings

from railgauge.cli import main

# Properties are judged by what they show, not by how fast a busy machine shows it.
settings.register_profile("unhurried", deadline=None)
settings.load_profile("unhurried")


@pytest.fixture
def railgauge(capsys):
    """``railgauge(*argv)``: exit code, standard output, standard error."""

    def run(*argv):
        try:
            code = main([str(word) for word in argv])
        except SystemExit as left:
            code = left.code
        out, err = capsys.readouterr()
        assert "Traceback" not in out + err
        return code, out, err

    return run


@pytest.fixture
def log(tmp_path):
    """``log(text)``: a file with that in it."""

    def write(text, name="x.log"):
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return write
