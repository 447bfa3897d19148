"""Access control over a million documents: what is built stays in a folder and is measured as often as wanted.

``python -m bench.million build DIR [--documents N] [--acls N | --own] [--fed]`` fills a data folder, and begun again goes on where it was
stopped: documents of some twenty words under ``--acls`` distinct ACLs in chains of four, with ``--own`` an ACL each. They are put straight
into store and index, with ``--fed`` pushed as feeds.

``python -m bench.million measure DIR [--rounds N]`` asks two processes on the folder the same queries in turn: the server's own, as users
in 10 to 5,000 groups who see 95, 50, 10 and 1 %, and one without access control, the reference. Aims, for later questions: at most 1.3
times where more than a tenth is visible (2 times where each document has an ACL of its own), at most 15 ms more below; totals exact to
1,000; a facet at most 20 ms more; a first question under 200 ms.

``python -m bench.million folder DIR`` changes the ACL of a folder with half of the documents below it, and waits until searches obey.

Where a machine has other work, the ratio of processor times says more than that of times.
"""
