require 'json'
require_relative 'flake'

puts "version: pg #{PG::VERSION}"

def check(found, expected)
  raise "#{found.inspect} is not #{expected.inspect}" unless found == expected
end

connection = PG.connect
connection.exec('CREATE EXTENSION flakeid')
connection.exec('CREATE TABLE orders (id flake PRIMARY KEY DEFAULT flake_next(), item text, near flake[])')
connection.exec('CREATE TABLE tickets (id flake_sealed PRIMARY KEY DEFAULT flake_next(), item text, near flake_sealed[])')
connection.exec('CREATE TABLE replies (id flake_sealed PRIMARY KEY DEFAULT flake_next(), ticket_id flake_sealed REFERENCES tickets)')
check(connection.exec('SELECT flake_next()').getvalue(0, 0).class, String) # without the file
connection.set_notice_processor { |warning| raise warning }
register_flake(connection)

one = connection.exec_params('INSERT INTO orders (item) VALUES ($1) RETURNING id', ['tea']).getvalue(0, 0)
check(one > 2**53, true)
ids = connection.exec("INSERT INTO orders (item) SELECT 'item ' || n FROM generate_series(1, 80) AS n RETURNING id").column_values(0)
check(ids, ids.sort.uniq)
block = connection.exec_params('SELECT flake_next_many($1)', [50]).column_values(0)
check(block.size, 50)

# Each kind of parameter, text and binary results
by_id = 'SELECT id, item FROM orders WHERE id = $1'
[0, 1].each do |format|
  check(connection.exec_params(by_id, [one], format).values, [[one, 'tea']])
  check(connection.exec_params(by_id, [one.to_s], format).values, [[one, 'tea']])
  check(connection.exec_params("#{by_id}::flake", [one], format).values, [[one, 'tea']])
  check(connection.exec_params("#{by_id}::text::flake", [one.to_s], format).values, [[one, 'tea']])
end
binary = PG::BinaryEncoder::Int8.new(oid: 20)
check(connection.exec_params(by_id, [one], 1, PG::TypeMapByColumn.new([binary])).values, [[one, 'tea']])
connection.prepare('by_id', by_id)
10.times { check(connection.exec_prepared('by_id', [one]).values, [[one, 'tea']]) }

# Arrays, with nil
odd = [2**53 + 1, nil, -(2**63), 2**63 - 1]
check(connection.exec_params('UPDATE orders SET near = $1::bigint[]::flake[] WHERE id = $2 RETURNING near', [odd, one]).getvalue(0, 0), odd)
check(connection.exec_params('SELECT count(*) FROM orders WHERE id = ANY ($1::bigint[])', [ids]).getvalue(0, 0), 80)

# Pages by the last id seen
seen = []
8.times do
  seen += connection.exec_params('SELECT id FROM orders WHERE id > $1 ORDER BY id LIMIT 10', [seen.last || one]).column_values(0)
end
check(seen, ids)

# JSON of the server has strings.
made = connection.exec_params("SELECT json_build_object('id', id) FROM orders WHERE id = $1", [one]).getvalue(0, 0)
made = JSON.parse(made) if made.is_a?(String)
check(made, { 'id' => one.to_s })

# COPY, in text and in binary, where a flake is an int8
connection.copy_data('COPY orders (id, item) FROM STDIN', PG::TextEncoder::CopyRow.new) do
  block.take(25).each { |id| connection.put_copy_data([id.to_s, 'copied']) }
end
connection.copy_data('COPY orders (id, item) FROM STDIN (FORMAT binary)') do
  connection.put_copy_data(["PGCOPY\n\xff\r\n\0".b, 0, 0].pack('a11 l> l>'))
  block.drop(25).each { |id| connection.put_copy_data([2, 8, id, 6, 'copied'].pack('s> l> q> l> a6')) }
  connection.put_copy_data([-1].pack('s>'))
end
check(connection.exec("SELECT id FROM orders WHERE item = 'copied' ORDER BY id").column_values(0), block)

# Sealed ids are texts, in text and in binary, and a text that is none is no row.
tickets = connection.exec("INSERT INTO tickets (item) SELECT 'item ' || n FROM generate_series(1, 50) AS n RETURNING id").column_values(0)
check(tickets.map(&:size).uniq, [Integer(ENV['FLAKEID_DIGITS'])])
[0, 1].each do |format|
  check(connection.exec_params('SELECT id FROM tickets ORDER BY id', [], format).column_values(0), tickets)
  check(connection.exec_params('SELECT item FROM tickets WHERE id = $1', [tickets[6]], format).values, [['item 7']])
  check(connection.exec_params('SELECT id FROM tickets WHERE id = flake_sealed_or_null($1)', ['favicon.ico'], format).values, [])
end
check(connection.exec_params('INSERT INTO replies (ticket_id) VALUES ($1) RETURNING ticket_id', [tickets[0]]).values, [[tickets[0]]])
check(connection.exec_params('SELECT id FROM tickets WHERE id = ANY ($1::text[]) ORDER BY id', [tickets]).column_values(0), tickets)
near = [tickets[1], nil]
check(connection.exec_params('UPDATE tickets SET near = $1::flake_sealed[] WHERE id = $2 RETURNING near', [near, tickets[0]]).values, [[near]])
connection.copy_data('COPY replies (ticket_id) FROM STDIN', PG::TextEncoder::CopyRow.new) { connection.put_copy_data([tickets[1]]) }
check(connection.exec('SELECT ticket_id FROM replies ORDER BY id').column_values(0), tickets.take(2))
