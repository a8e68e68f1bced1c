"""Who computes when: jobs give way to those who drag a slider, but not for ever."""

import threading
import time

import numpy as np
import pytest

from pages.work import slots


def test_live_turns_go_in_the_order_of_coming(monkeypatch):
    monkeypatch.setattr(slots, "N_LIVE", 1)
    order, threads = [], []

    def visit(number):
        with slots.interactive_slot() as ahead:
            order.append((number, ahead))

    with slots.interactive_slot():
        for number in range(5):
            threads.append(threading.Thread(target=visit, args=(number,)))
            threads[-1].start()
            while len(slots._waiting) <= number:
                time.sleep(0.001)
        assert not order
    for thread in threads:
        thread.join(10.0)
    assert order == [(number, number + 1) for number in range(5)]
    with slots.interactive_slot() as ahead:
        assert ahead == 0, "the line is empty again"


def test_who_has_a_live_turn_has_it():
    @slots.interactive_slot()
    def part():
        return "drawn"

    with slots.interactive_slot():
        assert part() == "drawn"
    with pytest.raises(ZeroDivisionError), slots.interactive_slot():
        _ = 1 / 0
    assert part() == "drawn", "a turn ends however it ends"


def test_pages_look_less_often_in_a_crowd(monkeypatch):
    monkeypatch.setattr(slots, "_crowded_until", 0.0)
    monkeypatch.setattr(slots, "CROWD_SECONDS", 0.5)
    monkeypatch.setattr(slots, "N_LIVE", 1)
    assert slots.poll_interval(0.5) == 0.5

    def visit():
        with slots.interactive_slot():
            pass

    threads = [threading.Thread(target=visit) for _ in range(2)]
    with slots.interactive_slot():
        threads[0].start()
        while len(slots._waiting) < 1:
            time.sleep(0.001)
        assert slots.poll_interval(0.5) == 0.5, "two are no crowd"
        threads[1].start()
        while len(slots._waiting) < 2:
            time.sleep(0.001)
        assert slots.poll_interval(0.5) == 2.0
    time.sleep(0.6)
    assert slots.poll_interval(0.5) == 0.5
    for thread in threads:
        thread.join(10.0)


def rises(flag):
    deadline = time.monotonic() + 10.0
    while not flag[0]:
        assert time.monotonic() < deadline
        time.sleep(0.001)
    return flag[0] == 1


def test_stop_flags_rise_when_they_are_due_and_in_any_order():
    began, own = time.monotonic(), np.zeros(1, dtype=np.int64)
    with slots.stopped_after(60.0) as late, slots.stopped_after(0.05) as early:
        assert rises(early) and time.monotonic() - began > 0.04 and not late[0]
        with slots.stopped_after(0.05, own) as later:
            assert later is own and rises(own) and not late[0]
    with slots.stopped_after(60.0, own):
        assert own[0], "it stays up"


def test_fits_that_end_in_time_leave_nothing_behind():
    with slots.stopped_after(0.0) as at_once:
        assert at_once[0]
    with slots.stopped_after(0.01):
        pass
    n_threads = threading.active_count()
    for _ in range(100):
        with slots.stopped_after(0.01) as flag:
            assert threading.active_count() == n_threads
    time.sleep(0.05)
    assert not flag[0] and not slots._due
