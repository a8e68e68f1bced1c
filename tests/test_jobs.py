"""Who computes when: jobs give way to those who drag a slider, but not for ever."""

import threading
import time

import pytest

from pages.work import jobs


def test_live_turns_go_in_the_order_of_coming(monkeypatch):
    monkeypatch.setattr(jobs, "N_LIVE", 1)
    order, threads = [], []

    def visit(number):
        with jobs.live_turn() as ahead:
            order.append((number, ahead))

    with jobs.live_turn():
        for number in range(5):
            threads.append(threading.Thread(target=visit, args=(number,)))
            threads[-1].start()
            while len(jobs._waiting) <= number:
                time.sleep(0.001)
        assert not order
    for thread in threads:
        thread.join(10.0)
    assert order == [(number, number + 1) for number in range(5)]
    with jobs.live_turn() as ahead:
        assert ahead == 0, "the line is empty again"


def test_no_more_live_turns_at_once_than_there_is_room_for(monkeypatch):
    monkeypatch.setattr(jobs, "N_LIVE", 2)
    now, most = [], []

    def visit():
        with jobs.live_turn():
            now.append(1)
            most.append(len(now))
            time.sleep(0.005)
            now.pop()

    threads = [threading.Thread(target=visit) for _ in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10.0)
    assert len(most) == 12 and max(most) == 2


def test_who_has_a_live_turn_has_it():
    @jobs.live_turn()
    def part():
        return "drawn"

    with jobs.live_turn():
        assert part() == "drawn"
    with pytest.raises(ZeroDivisionError), jobs.live_turn():
        _ = 1 / 0
    assert part() == "drawn", "a turn ends however it ends"


def test_pages_look_less_often_in_a_crowd(monkeypatch):
    monkeypatch.setattr(jobs, "_crowded_until", 0.0)
    monkeypatch.setattr(jobs, "CROWD_SECONDS", 0.5)
    monkeypatch.setattr(jobs, "N_LIVE", 1)
    assert jobs.pace(0.5) == 0.5

    def visit():
        with jobs.live_turn():
            pass

    threads = [threading.Thread(target=visit) for _ in range(2)]
    with jobs.live_turn():
        threads[0].start()
        while len(jobs._waiting) < 1:
            time.sleep(0.001)
        assert jobs.pace(0.5) == 0.5, "two are no crowd"
        threads[1].start()
        while len(jobs._waiting) < 2:
            time.sleep(0.001)
        assert jobs.pace(0.5) == 2.0
    time.sleep(0.6)
    assert jobs.pace(0.5) == 0.5
    for thread in threads:
        thread.join(10.0)
