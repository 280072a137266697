CREATE SCHEMA extensions;
CREATE EXTENSION flakeid SCHEMA extensions;
ALTER DATABASE :"DBNAME" SET search_path = public, extensions;
