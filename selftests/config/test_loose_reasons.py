"""What makes a limit acceptable that finds no fault: a measurement, or a signature."""

import pytest
from testing.core_values import long_form
from testing.loose_limits import complaints, platform_of

from railgauge.core.errors import BadInput

HOMELAB = "connectx4-homelab"
SIGNED = {"reason": "shared with storage until May", "who": "A. Engineer"}


def low(**changes):
    doc = long_form(HOMELAB)
    limit = doc["measurements"]["host_write_bandwidth"]["limits"][0]
    limit.update({"floor": 1000, **changes})
    return doc


def basis(source="004", **more):
    return {"source": source, "says": "such a cluster was measured", **more}


@pytest.mark.parametrize("source", ["004", "calibration"])
def test_a_measured_value_at_most_a_third_above_the_floor_is_a_reason(source):
    assert complaints(low(basis=basis(source, measured=1333))) == []
    curve = {"curve": {"64KiB": 1200, "8MiB": 1300}}
    assert complaints(low(basis=basis(source, measured=curve))) == []


@pytest.mark.parametrize(
    "given",
    [
        basis(), basis(measured=1340), basis("site", measured=1000),
        basis("derived", measured=1000),
        basis(measured={"curve": {"64KiB": 1200, "8MiB": 3000}}),
        basis(measured={"curve": {"64KiB": 1200, "512KiB": 1200}}),
        basis(measured=999),
    ],
)  # fmt: skip
def test_another_basis_is_no_reason(given):
    """A statement of the site, or a value too far above the floor or below it at some sizes."""
    assert len(complaints(low(basis=given))) == 1


def test_a_document_that_the_file_does_not_list_has_measured_nothing():
    with pytest.raises(BadInput, match="document 999, which is not among the documents"):
        complaints(low(basis=basis("999", measured=1000)))


def test_the_measured_value_is_printed_with_the_basis():
    """Its truth cannot be checked, but everybody can read it."""
    platform = platform_of(low(basis=basis(measured=1200)))
    (limit,) = platform.measurements["host_write_bandwidth"].limits
    assert str(limit.basis) == "004: such a cluster was measured (measured: 1200)"


def test_a_limit_that_is_declared_loose_is_accepted():
    platform = platform_of(low(loose=SIGNED))
    assert complaints(low(loose=SIGNED)) == []
    (declared,) = platform.loose
    assert declared.pointer == "/measurements/host_write_bandwidth/limits/0"
    assert (declared.reason, declared.who) == (SIGNED["reason"], SIGNED["who"])


@pytest.mark.parametrize(
    "given",
    [
        {}, {"reason": "because"}, {"who": "me"}, {"reason": " ", "who": "me"},
        {"reason": "because", "who": ""}, {"reason": "two\nlines", "who": "me"}, True, "because",
        {"reason": "because", "who": "me", "until": "2027-01-01"},
    ],
)  # fmt: skip
def test_loose_needs_a_reason_and_a_name(given):
    with pytest.raises(BadInput, match="loose"):
        platform_of(low(loose=given))


def test_another_limit_is_not_loose_because_one_is():
    doc = low(loose=SIGNED)
    doc["measurements"]["host_read_bandwidth"]["limits"][0]["floor"] = 1000
    (line,) = complaints(doc)
    assert line.startswith("/measurements/host_read_bandwidth/limits/0")


@pytest.mark.parametrize("section", ["growth", "fabric", "traffic", "peers"])
def test_every_kind_of_limit_can_be_declared_loose(section):
    doc = long_form("h200")
    if section == "growth":
        place = doc["growth"]["port_errors"]
        del place["ceiling"]
        place["per_hour"] = 1e9
    elif section == "fabric":
        place = doc["measurements"]["fabric_errors"]["fabric"]
        place["most"]["LinkDownedCounter"] = 1e6
    elif section == "traffic":
        place = doc["measurements"]["pair_all_reduce"]["traffic"]
        place["spread"] = 10
    else:
        place = doc["peers"] = {"behind_peers_max": 60, "unit": "%", "basis": basis("site")}
    assert len(complaints(doc)) == 1
    place["loose"] = SIGNED
    assert complaints(doc) == []


def test_a_rate_that_no_card_has_cannot_be_declared_loose():
    doc = long_form(HOMELAB)
    doc["hardware"]["nics"][0] |= {"data_rate_gbps": 3200, "loose": SIGNED}
    with pytest.raises(BadInput, match="unknown key 'loose'"):
        platform_of(doc)


def test_recording_hides_no_loose_limit():
    """A limit that is only recorded is compared with nothing; its run is incomplete."""
    doc = low(record_only=True)
    assert complaints(doc) == []
