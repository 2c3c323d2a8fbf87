"""The claims of the four papers."""

from dml.config.printed import printed

FOUR = ("eps", "histogram", "loop", "noise")


def test_the_90_claims_have_unique_ids_that_begin_with_their_paper():
    claims = [claim for claim in printed().values() if claim.paper in FOUR]
    assert len(claims) == 90
    assert all(claim.id.startswith(f"{claim.paper}-") and claim.claim for claim in claims)
    by = {kind: sum(claim.decided_by == kind for claim in claims) for kind in ("theory", "cpu", "data")}
    assert by == {"theory": 25, "cpu": 44, "data": 21}


def test_a_claim_that_needs_data_says_which():
    assert all(bool(claim.needs) == (claim.decided_by == "data") for claim in printed().values())
    assert printed()["eps-table-6"].needs == ("cars196", "cub200")
    assert printed()["histogram-reid"].needs == ("cuhk03", "market1501")
    assert printed()["loop-table-3"].needs == ("cars196", "cub200", "sop")
