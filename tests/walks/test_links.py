"""Links, Back, reload, a second tab, and a table that is deleted meanwhile."""

from __future__ import annotations

import re

from playwright.sync_api import expect

from tests.walks.tables import clinic
from tests.walks.visit import Visit

ACCURACY = re.compile(r"Validation accuracy\s+[\d.]+ %\s+\d+ of \d+ rows")


def mu(visit: Visit) -> str:
    """The number that stands at a slider."""
    return visit.page.get_by_label(
        "Switch features off (μ), value", exact=True
    ).input_value()


def test_back_and_reload_show_what_was_there(visit):
    visit.open("?data=iris&mu=0.02")
    first = visit.reads(ACCURACY).group(), mu(visit)
    visit.drag("Switch features off (μ)", 0.55, 0.9)
    expect(visit.page).not_to_have_url(re.compile("mu=0.02"))
    second = visit.reads(ACCURACY).group(), mu(visit)
    assert second != first
    visit.page.reload()
    visit.rest()
    assert (visit.reads(ACCURACY).group(), mu(visit)) == second
    visit.go("Performance").reads("trained on Iris")
    visit.go("Compare").go("Trade-off").go("Prototypes")
    for path in ("/tradeoff", "/compare", "/performance", "/?"):
        visit.doing = "go back"
        visit.page.go_back()
        visit.page.wait_for_url(lambda url, path=path: path in url)
        visit.rest()
    assert (visit.reads(ACCURACY).group(), mu(visit)) == second
    visit.page.go_forward()
    visit.rest().reads("trained on Iris")


def test_a_second_tab_is_a_visit_of_its_own_with_the_same_tables(visitors):
    come = visitors()
    one, two = come(), come()
    clinic(one)
    one.go("Explore")
    two.open(one.page.url.removeprefix(one.address))
    shown = one.reads(ACCURACY).group()
    assert two.reads(ACCURACY).group() == shown
    two.drag("Switch features off (μ)", 0.5, 0.9)
    assert one.reads(ACCURACY).group() == shown
    one.go("Data").click("button", re.compile("Delete"))
    one.reads("Two half circles")
    # The other tab says why it shows another table.
    two.go("Prototypes").reads("only in the browser that brought them")
    two.reads("trained on Moons")
    two.page.reload()
    two.rest().reads("trained on Moons")
    two.go("Data")
    one.go("Explore").reads(ACCURACY)


def test_a_link_with_junk_opens_with_a_sentence_and_usual_values(visit):
    junk = "?data=../../etc&method=%3Cb%3E&mu=1e999&lam=junk&mine=x&n_prototypes=-3&q=1"
    for path in ("", "data", "prototypes", "performance", "export", "compare"):
        visit.open(path + junk)
        assert "../etc" not in visit.page.get_by_test_id("stMain").inner_text()
    visit.open("?data=iris&mu=99999")
    visit.reads(ACCURACY)
    visit.open("lessons?lesson=none&step=99&class=ZZZZZZ")
