"""Every message of perftest is a typed problem, and none is read as a number."""

import pytest

from railgauge.tools.perftest import parse

HEADING = " #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]\n"
ROW = " 65536      5000             392.38             392.34 \t\t     0.748336\n"
LINE = "-" * 87 + "\n"
TABLE = LINE + HEADING + ROW + LINE
LATENCY = (
    " #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]    t_avg[usec]"
    "    t_stdev[usec]   99% percentile[usec]   99.9% percentile[usec] \n"
)


def kinds(text, severity="error"):
    return [p.kind for p in parse(text).problems if p.severity == severity]


def values(text, metric="bw_average"):
    return [(s.size_bytes, s.value, s.unit) for s in parse(text).samples if s.metric == metric]


def row(size, average, rate, peak="400.00"):
    return f" {size}      5000             {peak}             {average}\t\t   {rate}\n"


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("unknown-flag", "ib_write_bw: unrecognized option '--use_maca=0'\n"),
        ("unknown-flag", "./ib_write_bw: invalid option -- 'Z'\n"),
        ("unknown-flag", " Invalid Command or flag.\n Please check command line and run again.\n"),
        (
            "version-mismatch",
            "Current implementation is not compatible with versions older than 5.70\n",
        ),
        (
            "device-not-found",
            "IB device mlx5_9 not found\n Unable to find the Infiniband/RoCE device\n",
        ),
        ("device-not-found", " Unable to find the Infiniband/RoCE device\n"),
        ("port-down", " Port number 1 state is Down\n Couldn't set the link layer\n"),
        ("port-down", " Port number 2 state is Initializing\n"),
        ("port-in-use", "Couldn't listen to port 18515\n"),
        ("port-in-use", "bind: Address already in use\n"),
        ("name-not-resolved", "Name or service not known for node09:18515\n"),
        ("name-not-resolved", "No address associated with hostname for node09:18515\n"),
        (
            "connection-refused",
            "Couldn't connect to 10.0.0.2:18515\n Unable to init the socket connection\n",
        ),
        ("socket-failed", "Unable to open file descriptor for socket connection\n"),
        ("memory-registration", "Couldn't allocate MR\nfailed to create mr\n"),
        ("qp-transition", "Failed to modify QP 651 to RTR, ret=110\n"),
        ("qp-transition", " Unable to Connect the HCA's through the link\n"),
        (
            "completion-error",
            " Completion with error at client\n Failed status 12: wr_id 0 syndrom 0x81\n",
        ),
        ("peer-gone", "ethernet_read_keys: Couldn't read remote address\n"),
        ("peer-gone", " Unable to read to socket/rdma_cm\n"),
        ("tool-missing", "bash: line 1: ib_write_bw: command not found\n"),
        ("tool-missing", "sh: 1: ib_send_lat: not found\n"),
        ("tool-missing", "env: ‘ib_write_bw’: No such file or directory\n"),
        (
            "tool-missing",
            "timeout: failed to run command 'ib_write_bw': No such file or directory\n",
        ),
        ("tool-missing", "bash: /opt/perf/ib_write_bw: Permission denied\n"),
        (
            "tool-missing",
            "ib_write_bw: error while loading shared libraries: libibverbs.so.1: no\n",
        ),
        ("tool-crashed", "Segmentation fault (core dumped)\n"),
        ("tool-failed", " Couldn't get context for the device\n"),
        ("tool-failed", " Parser function exited with Error\n"),
    ],
)
class TestComplaint:
    def test_each_message_alone_is_its_problem(self, kind, text):
        assert kinds(text)[0] == kind
        assert parse(text).samples == ()

    def test_a_message_behind_a_table_is_its_problem(self, kind, text):
        assert kind in kinds(LINE + HEADING + ROW + text)
        assert values(LINE + HEADING + ROW + text) == [(65536, 392.34, "Gb/s")]

    def test_a_message_between_heading_and_missing_rows_is_its_problem(self, kind, text):
        assert kind in kinds(LINE + HEADING + text)

    def test_a_message_with_windows_line_ends_is_its_problem(self, kind, text):
        assert kinds(text.replace("\n", "\r\n"))[0] == kind


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("cpu-frequency", "Conflicting CPU frequency values detected: 1.0 != 2.0. CPU ...\n"),
        ("relaxed-ordering", " WARNING: CPU is not PCIe relaxed ordering compliant.\n"),
        ("peak-not-measured", " WARNING: BW peak won't be measured in this run.\n"),
    ],
)
def test_warnings_do_not_spoil_the_table(kind, text):
    parsed = parse(LINE + HEADING + text + ROW + LINE)
    assert [(p.kind, p.severity) for p in parsed.problems] == [(kind, "warning")]
    assert len(parsed.samples) == 3


def test_a_sound_table_has_no_problem():
    assert parse(TABLE).problems == ()


@pytest.mark.parametrize("text", ["", " \n\t\r\n", "\x1b[0m"])
def test_no_output_is_an_error(text):
    assert kinds(text) == ["no-output"]


@pytest.mark.parametrize("text", ["hello\n", "392.25\n", ROW, LINE + ROW + LINE, "{1,2}"[1:]])
def test_a_text_without_a_table_is_an_error(text):
    assert kinds(text) == ["no-table"]
    assert parse(text).samples == ()


def test_waiting_server_is_no_table():
    assert kinds("* Waiting for client to connect... *\n") == ["no-table"]


def test_addresses_without_heading_are_truncated():
    assert kinds(" local address: LID 0x01 QPN 0x004c PSN 0x3a0d1f\n") == ["truncated"]


def test_heading_without_row_is_truncated():
    assert kinds(LINE + HEADING) == ["truncated"]
    assert kinds(LINE + HEADING + LINE) == ["truncated"]


@pytest.mark.parametrize(
    "cut",
    ["392.38   39\n", "392.38   392.34   0.7483\n", "392.38   392.34   0.\n", "392.38\n", "\n"],
)
def test_row_cut_before_a_line_end(cut):
    text = HEADING + " 65536      5000    " + cut + LINE
    assert "truncated" in kinds(text)
    assert parse(text).samples == ()


def test_a_sweep_with_a_gap_is_an_error():
    text = HEADING + row(2, "0.11", "6.875000") + row(8, "0.45", "7.031250") + LINE
    assert kinds(text) == ["sweep-gap"]


def test_sweep_without_closing_line_is_a_warning():
    text = HEADING + row(2, "0.11", "6.875000") + row(4, "0.22", "6.875000")
    assert kinds(text) == []
    assert kinds(text, "warning") == ["no-closing-line"]


@pytest.mark.parametrize("value", ["nan", "-nan", "inf", "-inf", "-3.00"])
def test_a_value_that_is_no_number_is_an_error(value):
    text = HEADING + row(65536, value, "0.748336") + LINE
    assert kinds(text) == ["not-a-number"]
    assert values(text) == []


@pytest.mark.parametrize("average", ["0.00", "0.000000"])
def test_a_zero_average_is_an_error(average):
    text = HEADING + row(65536, average, "0.000000", peak="0.00") + LINE
    assert kinds(text) == ["zero-value"]
    assert values(text) == []


def test_zero_latency_is_no_latency_but_zero_deviation_is():
    text = LATENCY + " 2 1000 1.00 1.00 1.00 0.00 0.00 1.00 1.00\n" + LINE
    assert kinds(text) == ["zero-value"]
    assert values(text, "lat_avg") == []
    assert values(text, "lat_stdev") == [(2, 0.0, "us")]


def test_zero_peak_is_a_warning_and_the_average_stands():
    text = HEADING + row(65536, "392.34", "0.748336", peak="0.00") + LINE
    assert kinds(text) == []
    assert kinds(text, "warning") == ["peak-not-measured"]
    assert values(text) == [(65536, 392.34, "Gb/s")]


@pytest.mark.parametrize("unit", ["Xb/sec", "GB/sec", "Mpps", "usec", "gb/sec"])
def test_an_unknown_unit_is_an_error(unit):
    text = TABLE.replace("Gb/sec", unit)
    assert "unit-unknown" in kinds(text)
    assert values(text) == []
    assert values(text, "bw_peak") == []


def test_cycles_are_no_microseconds():
    text = LATENCY.replace("usec", "cycles") + " 2 1000 1.00 1.00 1.00 1.00 0.00 1.00 1.00\n"
    assert "unit-unknown" in kinds(text)
    assert parse(text).samples == ()


@pytest.mark.parametrize("printed", ["MB/sec", "MiB/sec"])
def test_gigabits_below_a_heading_of_megabytes_are_read_as_such(printed):
    text = TABLE.replace("Gb/sec", printed)
    assert kinds(text) == []
    assert kinds(text, "warning") == ["unit-mismatch"]
    assert values(text) == [(65536, 392.34, "Gb/s")]


def test_megabytes_below_a_heading_of_gigabits_are_read_as_such():
    text = HEADING + row(65536, "46557.03", "0.744912") + LINE
    assert kinds(text, "warning") == ["unit-mismatch"]
    assert values(text) == [(65536, 46557.03, "MiB/s")]


@pytest.mark.parametrize("average", ["39.23", "3923.40", "392.34"])
def test_a_figure_that_its_message_rate_denies_is_given_beside_an_error(average):
    """A missed limit in an edited output is still a miss."""
    rows = row(65536, average, "0.748336") + row(131072, "392.00", "0.373840")
    denied = average != "392.34"
    text = HEADING + rows + LINE
    assert kinds(text) == (["inconsistent"] if denied else [])
    assert values(text) == [(65536, float(average), "Gb/s"), (131072, 392.0, "Gb/s")]


def test_a_figure_in_the_other_unit_is_no_value():
    rows = row(65536, "46771.00", "0.748336") + row(131072, "392.00", "0.373840")
    text = HEADING + rows + LINE
    assert kinds(text) == ["unit-mismatch"]
    assert values(text) == [(131072, 392.0, "Gb/s")]


@pytest.mark.parametrize(
    "heading",
    [
        " #bytes #iterations BW peak[Gb/sec] BW mean[Gb/sec] MsgRate[Mpps]\n",
        " #bytes #iterations\n",
        " #bytes BW peak[Gb/sec] BW average[Gb/sec]\n",
        " #bytes #iterations BW average[Gb/sec] BW average[Gb/sec] MsgRate[Mpps]\n",
    ],
)
def test_other_tables_are_unparsable(heading):
    assert kinds(heading + ROW) == ["unparsable"]
    assert parse(heading + ROW).samples == ()


def test_words_in_a_row_are_unparsable():
    text = HEADING + " 65536 5000 N/A 392.34 0.748336\n" + LINE
    assert "unparsable" in kinds(text)
    assert parse(text).samples == ()


def test_unknown_combinations_of_columns_give_a_warning():
    text = "#bytes #iterations t_avg[usec] t_stdev[usec]\n2 1000 0.88 0.05\n" + LINE
    assert kinds(text, "warning") == ["hand-edited"]
    assert values(text, "lat_avg") == [(2, 0.88, "us")]


def test_a_hand_edited_row_counts_only_with_its_line_end():
    text = "#bytes #iterations t_avg[usec] t_stdev[usec]\n2 1000 0.88 0.05"
    assert kinds(text) == ["truncated"]
    assert parse(text).samples == ()


def test_missing_driver_library_is_not_a_missing_tool():
    noise = "libibverbs: Warning: couldn't load driver 'x.so': No such file or directory\n"
    assert parse(noise + TABLE).problems == ()


def test_problems_are_counted_not_repeated():
    parsed = parse(HEADING + " 65536 5000 1.00\n" * 1000)
    assert [p.kind for p in parsed.errors] == ["truncated"]
    assert "and 1000 more" in parsed.errors[0].message


def test_rows_of_a_second_run_do_not_use_the_heading_of_the_first():
    second = "                    Send BW Test\n 4096 1000 1.00 1.00 0.030518\n"
    assert values(TABLE + second) == [(65536, 392.34, "Gb/s")]


class TestJson:
    TEXT = (
        '{"test_info": {"test": "RDMA_Write_BW_Test", "Device": "mlx5_0", "Number_of_qps": 2,'
        ' "cuda_device": 3}, "results": {"MsgSize": 65536, "n_iterations": 5000,'
        ' "BW_peak": 392.38, "BW_average": 392.34, "MsgRate": 0.748336}}'
    )

    def test_the_unit_of_json_is_found_by_the_message_rate(self):
        assert values(self.TEXT) == [(65536, 392.34, "Gb/s")]
        assert parse(self.TEXT).problems == ()

    def test_the_summary_of_json_is_read(self):
        summary = parse(self.TEXT).summary
        assert summary["command"] == "ib_write_bw"
        assert (summary["device"], summary["qps"], summary["memory"]) == ("mlx5_0", 2, "cuda")
        assert (summary["rows"], summary["iterations"]) == (1, {65536: 5000})

    def test_latencies_of_json_are_read(self):
        text = '{"results": {"MsgSize": 2, "n_iterations": 9, "t_avg": 1.6, "percentile_99.9": 2}}'
        assert values(text, "lat_avg") == [(2, 1.6, "us")]
        assert values(text, "lat_p999") == [(2, 2.0, "us")]

    def test_without_message_rate_the_unit_is_unknown(self):
        text = self.TEXT.replace('"MsgRate"', '"Other"')
        assert kinds(text) == ["unit-unknown"]
        assert values(text) == []

    def test_a_value_that_fits_no_unit_is_an_error(self):
        text = self.TEXT.replace("392.34", "1234.56")
        assert kinds(text) == ["unit-unknown"]
        assert values(text) == []

    def test_every_field_of_the_header_is_read(self):
        shown = '"CQ_Moderation": 100, "Max_inline_data": 220, "Use_MACA_memory": "ON"'
        summary = parse(self.TEXT.replace('"cuda_device": 3', shown)).summary
        assert (summary["cq_moderation"], summary["inline_bytes"]) == (100, 220)
        assert summary["memory"] == "maca"

    @pytest.mark.parametrize("figure", ["392.38", "392.34", "0.748336"])
    def test_a_figure_without_its_decimals_is_refused(self, figure):
        text = self.TEXT.replace(figure, figure.partition(".")[0])
        assert "not-a-number" in kinds(text)

    @pytest.mark.parametrize(
        "text",
        [
            TEXT.replace("}}", ",}}"),
            TEXT.replace('"n_iterations"', '"sl": [x], "n_iterations"'),
            TEXT.replace("392.34", "-nan"),
            "{" * 100000,
            '{"a":' * 100000,
            '{"MsgSize": ' + "9" * 10000 + "}",
        ],
    )
    def test_invalid_json_is_an_error(self, text):
        assert kinds(text) == ["unparsable"]
        assert parse(text).samples == ()

    @pytest.mark.parametrize("end", range(1, len(TEXT)))
    def test_cut_json_is_an_error(self, end):
        assert parse(self.TEXT[:end]).samples == ()
        assert kinds(self.TEXT[:end])

    @pytest.mark.parametrize("text", ["{}", '{"results": []}', '{"results": 3}'])
    def test_json_without_results_is_an_error(self, text):
        assert kinds(text) == ["no-table"]

    @pytest.mark.parametrize("size", ['"x"', "true", "-1", "null", "1e99"])
    def test_impossible_sizes_are_errors(self, size):
        text = self.TEXT.replace('"MsgSize": 65536', f'"MsgSize": {size}')
        assert kinds(text) == ["unparsable"]

    def test_impossible_numbers_are_errors(self):
        text = '{"results": {"MsgSize": 2, "t_avg": "fast", "t_min": -1, "t_max": Infinity}}'
        assert kinds(text) == ["not-a-number"]
        assert parse(text).samples == ()
