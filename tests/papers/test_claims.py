"""The claims of the four papers."""

from dml.papers import paper_claims

FOUR = ("eps", "histogram", "loop", "noise")


def test_the_90_claims_have_unique_ids_that_begin_with_their_paper():
    claims = [claim for claim in paper_claims().values() if claim.paper in FOUR]
    assert len(claims) == 90
    assert all(claim.id.startswith(f"{claim.paper}-") and claim.claim for claim in claims)
    by = {kind: sum(claim.decided_by == kind for claim in claims) for kind in ("theory", "cpu", "data")}
    assert by == {"theory": 25, "cpu": 44, "data": 21}
