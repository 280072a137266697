-- For every session of the database: a client of a pool cannot SET it for itself. Its ids then do not rise any more.
ALTER DATABASE shop SET flakeid.cache = 100;
ALTER DATABASE shop SET flakeid.max_ahead = '10min';
