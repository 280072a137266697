# Types flake and flake_sealed in Rails: config/initializers/flake.rb. An id is an Integer, a sealed id a String;
# `id: :flake` and `id: :flake_sealed` make primary keys.
require 'active_record'
require 'active_record/connection_adapters/postgresql_adapter'

module Flake
  # Not a subclass of the Integer of Rails, which takes it that the driver has decoded the value.
  class Type < ActiveModel::Type::Value
    include ActiveModel::Type::Helpers::Numeric

    def type
      :flake
    end

    private

    def cast_value(value)
      value.to_i
    end
  end

  class SealedType < ActiveModel::Type::Value
    def type
      :flake_sealed
    end

    private

    def cast_value(value)
      value.to_s
    end
  end

  TYPES = { flake: Type, flake_sealed: SealedType }.freeze

  module Adapter
    def initialize_type_map(map = type_map)
      TYPES.each { |name, type| map.register_type name.to_s, type.new }
      super
    end
  end

  module Columns
    TYPES.each_key do |type|
      define_method(type) { |*names, **options| names.each { |name| column(name, type, **options) } }
    end

    def primary_key(name, type = :primary_key, **options)
      options[:default] = options.fetch(:default, -> { 'flake_next()' }) if TYPES.key?(type)
      super
    end
  end

  # The ids of n rows that do not exist yet
  def self.block(n)
    ActiveRecord::Base.connection.select_values("SELECT flake_next_many(#{Integer(n)})").map(&:to_i)
  end

  ActiveRecord::ConnectionAdapters::PostgreSQLAdapter.prepend Adapter
  TYPES.each_key { |type| ActiveRecord::ConnectionAdapters::PostgreSQLAdapter::NATIVE_DATABASE_TYPES[type] = { name: type.to_s } }
  ActiveRecord::ConnectionAdapters::PostgreSQL::TableDefinition.prepend Columns
  ActiveRecord::ConnectionAdapters::PostgreSQL::Table.prepend Columns
end
