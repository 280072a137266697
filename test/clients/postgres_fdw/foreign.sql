CREATE EXTENSION flakeid;
CREATE EXTENSION postgres_fdw;
CREATE SERVER there FOREIGN DATA WRAPPER postgres_fdw
    OPTIONS (host '127.0.0.1', port :'port', dbname :'dbname', extensions 'flakeid');
CREATE USER MAPPING FOR CURRENT_USER SERVER there OPTIONS (user 'postgres');

-- With the defaults: a new row has an id of this server, which needs a node of its own.
IMPORT FOREIGN SCHEMA public LIMIT TO (orders, lines) FROM SERVER there INTO public
    OPTIONS (import_default 'true');

-- Without the column: a new row has an id of that server.
CREATE FOREIGN TABLE new_orders (item text) SERVER there OPTIONS (table_name 'orders');
