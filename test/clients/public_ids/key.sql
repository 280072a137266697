SELECT encode(flakeid.sealed_key(0, 'inv'), 'hex');
