"""The suite's budget of false alarms: what draws may do to a correct program."""


def test_all_chances_of_a_false_alarm_are_stated_and_small_together(stated_false_alarms):
    stated, most = stated_false_alarms
    assert all(0 < chance < 1e-2 for chance in stated.values()), stated
    largest = sorted(stated.items(), key=lambda pair: -pair[1])
    assert sum(stated.values()) <= most, "\n".join(f"{chance:.1e} {name}" for name, chance in largest)
