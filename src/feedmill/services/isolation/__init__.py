"""One item's failure costs that item: batches that are halved, items that ended the process, fault points for tests."""
