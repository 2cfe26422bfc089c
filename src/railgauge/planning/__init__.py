"""What a level measures of a cluster: pairs, cases, their order and their duration."""
