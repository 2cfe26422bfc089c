"""Every command names a file that cannot be used once, in its one line of error."""

import pytest

NAME = "acceptance.railgauge"
COMMANDS = (
    ("merge", "{}"),
    ("requalify", "{}", "n1"),
    ("certificate", "{}"),
    ("inventory", "{}"),
    ("compare", "{}", "{}"),
    ("triage", "{}"),
    ("metrics", "{}"),
    ("prune", "--keep", "1", "{}"),
    ("bundle", "--unsigned", "{}"),
    ("verify", "{}"),
    ("undo", "--hostfile", "mine.yaml", "{}"),
    ("thresholds", "derive", "{}"),
    ("plan", "--hostfile", "{}"),
)


@pytest.mark.parametrize("content", [b"", b"no bundle", b"\x1f\x8b\x08broken"])
@pytest.mark.parametrize("argv", COMMANDS, ids=lambda argv: argv[0])
def test_a_bad_file_is_named_once(railgauge, tmp_path, argv, content):
    path = tmp_path / NAME
    path.write_bytes(content)
    code, out, err = railgauge(*(word.format(path) for word in argv))
    assert (code, len(err.splitlines())) == (2, 1), (out, err)
    assert err.count(NAME) == 1, err


def test_an_empty_folder_is_named_once(railgauge, tmp_path):
    """The folder of a run without its files."""
    folder = tmp_path / NAME
    folder.mkdir()
    for command in ("merge", "certificate", "inventory", "triage", "metrics"):
        _, _, err = railgauge(command, folder)
        assert err.count(NAME) == 1, (command, err)
    assert railgauge("bundle", "--unsigned", folder)[2].count(NAME) == 1
    assert railgauge("requalify", folder, "n1")[2].count(NAME) == 1
