"""What a level demands of a cluster: pairs, cases, their order and the time they take."""
