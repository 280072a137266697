# Types flake and flake_sealed in pg: an id is an Integer, a sealed id a String, arrays are Arrays of them.
require 'pg'

# Eight bytes, and before them the number of the key where it has one
class FlakeSealedBinaryDecoder < PG::SimpleDecoder
  def decode(bytes, *)
    *key, word = bytes.unpack(bytes.bytesize > 8 ? 'CQ>' : 'Q>')
    key.map { |number| number.to_s(32) }.join + word.to_s(32).rjust(13, '0')
  end
end

def register_flake(connection)
  results = PG::BasicTypeMapForResults.new(connection)
  [
    ['flake', PG::TextDecoder::Integer, PG::BinaryDecoder::Integer],
    ['flake_sealed', PG::TextDecoder::String, FlakeSealedBinaryDecoder]
  ].each do |name, text, binary|
    oid, array_oid = connection.exec("SELECT '#{name}'::regtype::oid, '#{name}[]'::regtype::oid").values.first.map(&:to_i)
    results.add_coder(text.new(name: name, oid: oid))
    results.add_coder(binary.new(name: name, oid: oid, format: 1))
    results.add_coder(PG::TextDecoder::Array.new(name: "_#{name}", oid: array_oid, elements_type: text.new))
  end
  connection.type_map_for_results = results
  connection.type_map_for_queries = PG::BasicTypeMapForQueries.new(connection)
end
