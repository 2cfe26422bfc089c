"""What a level demands of a cluster: pairs, cases, their order and their duration."""
