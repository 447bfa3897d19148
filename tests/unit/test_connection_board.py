from feedmill.runtime.connectionboard import ConnectionBoard, ConnectionCount


def test_process_with_the_fewest_connections_has_no_lighter_peer() -> None:
    board = ConnectionBoard()
    counts = [ConnectionCount(board, number=number, processes=3) for number in range(3)]
    for count, connections in zip(counts, (2, 1, 1), strict=True):
        count.begin()
        count.add(connections)
    assert [count.has_lighter_peer() for count in counts] == [True, False, False]
    counts[1].add(-1)
    assert [count.has_lighter_peer() for count in counts] == [True, False, True]


def test_process_that_accepts_nothing_is_no_peer() -> None:
    board = ConnectionBoard()
    first, second = (ConnectionCount(board, number=number, processes=2) for number in range(2))
    first.begin()
    first.add(5)
    assert not first.has_lighter_peer()
    assert not board.are_serving(2)
    second.begin()
    assert (first.has_lighter_peer(), board.are_serving(2)) == (True, True)
    second.leave()
    second.add(1)  # a connection that drains is no entry of the successor
    assert (first.has_lighter_peer(), board.are_serving(2)) == (False, False)


def test_process_beyond_the_present_number_is_no_peer() -> None:
    board = ConnectionBoard()
    killed = ConnectionCount(board, number=2, processes=3)
    killed.begin()
    first = ConnectionCount(board, number=0, processes=2)
    first.begin()
    first.add(1)
    assert not first.has_lighter_peer()
