"""``transport: slurm`` in a hostfile; needs no Slurm."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from testing.places import ROOT

from railgauge.config.hostfile import cluster_from_json, cluster_to_json, load
from railgauge.core.errors import HostfileError
from railgauge.core.model import Cluster, SlurmSettings
from railgauge.transport.slurm.steps import environment, step_argv

SCHEMA = ROOT / "hostfiles" / "schema.json"
HEAD = "cluster: c\nplatform: p\ntransport: slurm\nnodes: n[1-2]\n"


def loaded(folder: Path, text: str) -> Cluster:
    path = folder / "mine.yaml"
    path.write_text(text, encoding="utf-8")
    return load(path, schema_file=SCHEMA)


def test_settings_are_those_of_every_node_and_travel(tmp_path: Path) -> None:
    cluster = loaded(
        tmp_path,
        f"{HEAD}slurm: {{partition: gpu, account: ops, gres: 'gpu:8', time_limit_min: 90, "
        "wait_s: 5, allocation_options: [--reservation=r], step_options: [--propagate=NONE]}\n",
    )
    wanted = SlurmSettings(
        "gpu", "ops", "gpu:8", 90, 5.0, ("--reservation=r",), ("--propagate=NONE",)
    )
    assert [node.slurm for node in cluster.nodes] == [wanted, wanted]
    assert cluster_from_json(json.loads(json.dumps(cluster_to_json(cluster)))) == cluster


def test_nothing_need_be_said(tmp_path: Path) -> None:
    assert loaded(tmp_path, HEAD).nodes[0].slurm == SlurmSettings()


def test_clusters_of_earlier_versions_have_no_settings(tmp_path: Path) -> None:
    data = cluster_to_json(loaded(tmp_path, HEAD))
    for node in data["nodes"]:
        del node["slurm"]
    assert cluster_from_json(data).nodes[0].slurm == SlurmSettings()


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        (f"{HEAD}slurm: {{queue: gpu}}\n", "queue"),
        (f"{HEAD}slurm: {{wait_s: 0}}\n", "wait_s"),
        (f"{HEAD}slurm: {{step_options: ['rm -rf']}}\n", "step_options"),
        (f"{HEAD}slurm: {{partition: 'a b'}}\n", "partition"),
        (
            HEAD.replace("slurm", "ssh") + "slurm: {partition: gpu}\n",
            "only used with transport: slurm",
        ),
    ],
)
def test_what_is_wrong_is_told_with_its_line(tmp_path: Path, text: str, printed: str) -> None:
    with pytest.raises(HostfileError, match=rf"mine.yaml:5: .*{printed}"):
        loaded(tmp_path, text)


def test_a_step_asks_for_what_the_hostfile_says() -> None:
    settings = SlurmSettings(gres="gpu:8", step_options=("--propagate=NONE",), job="7")
    argv = step_argv(settings, ["n01", "n02", "n03"], ("true", "$HOME"), "--label")
    assert argv[:3] == ("srun", "--jobid=7", "--overlap")
    assert {"--nodelist=n[01-03]", "--nodes=3", "--gres=gpu:8", "--mem=0"} < set(argv)
    assert argv[-4:] == ("--label", "--propagate=NONE", "true", "$HOME")


def test_a_surrounding_job_has_no_say(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("SLURM_NTASKS", "SRUN_CPUS_PER_TASK", "SLURM_JOB_ID", "SLURM_CONF", "SALLOC_QOS"):
        monkeypatch.setenv(name, "x")
    printed = environment()
    assert {name for name in printed if name.startswith(("SLURM", "SRUN", "SALLOC"))} == {
        "SLURM_CONF",
        "SALLOC_QOS",
    }
