-- What consumers did, and which process of theirs. Nothing here refuses what is done twice.
CREATE TABLE done (number bigserial, consumer text, process int, id bigint, body text);
