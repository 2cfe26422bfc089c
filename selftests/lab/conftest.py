"""The labs that these tests share."""

from testing.lab_bench import (  # noqa: F401 - fixtures are found by being here
    h200,
    homelab,
    metax,
    mi300x,
    noisy,
    noisy_twin,
    start_lab,
    tcpx,
)
