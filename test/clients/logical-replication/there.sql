-- The subscriber makes ids too, so it has a node of its own.
CREATE EXTENSION flakeid;
CREATE TABLE orders (id flake PRIMARY KEY DEFAULT flake_next(), item text, near flake[]);
-- A bigint may stand for a flake, in text and in binary.
CREATE TABLE events (id bigint PRIMARY KEY);
CREATE TABLE filtered (id bigint PRIMARY KEY, item text);
CREATE SUBSCRIPTION shop CONNECTION :'here' PUBLICATION shop WITH (binary = true);

CREATE TABLE back (id bigint PRIMARY KEY);
CREATE PUBLICATION back FOR TABLE back;
