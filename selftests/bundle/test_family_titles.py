"""Each item of a family has the title of its member."""

import json


def test_items_of_a_family_have_the_title_of_their_member(healthy):
    lines = (healthy.run.latest / "records.jsonl").read_text().splitlines()
    records = [json.loads(line) for line in lines]
    titles = {one["subject"]: one["title"] for one in records if "::test_bandwidth[" in one["id"]}
    reads = "Host-memory RDMA reads between any two nodes run at line rate."
    assert titles["host_read_bandwidth"] == reads
    assert len({*titles.values()}) == len(titles) > 2
