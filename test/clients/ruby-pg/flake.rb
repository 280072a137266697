# Type flake in pg: an id is an Integer, a flake[] an Array of them, in text and in binary.
require 'pg'

def register_flake(connection)
  results = PG::BasicTypeMapForResults.new(connection)
  oid, array_oid = connection.exec("SELECT 'flake'::regtype::oid, 'flake[]'::regtype::oid").values.first.map(&:to_i)
  results.add_coder(PG::TextDecoder::Integer.new(name: 'flake', oid: oid))
  results.add_coder(PG::BinaryDecoder::Integer.new(name: 'flake', oid: oid, format: 1))
  results.add_coder(PG::TextDecoder::Array.new(name: '_flake', oid: array_oid, elements_type: PG::TextDecoder::Integer.new))
  connection.type_map_for_results = results
  connection.type_map_for_queries = PG::BasicTypeMapForQueries.new(connection)
end
