# Type flake in Rails: config/initializers/flake.rb. An id is an Integer; `id: :flake` makes a primary key.
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

  module Adapter
    def initialize_type_map(map = type_map)
      map.register_type 'flake', Type.new
      super
    end
  end

  module Columns
    def flake(*names, **options)
      names.each { |name| column(name, :flake, **options) }
    end

    def primary_key(name, type = :primary_key, **options)
      options[:default] = options.fetch(:default, -> { 'flake_next()' }) if type == :flake
      super
    end
  end

  # The ids of n rows that do not exist yet
  def self.block(n)
    ActiveRecord::Base.connection.select_values("SELECT flake_next_many(#{Integer(n)})").map(&:to_i)
  end

  ActiveRecord::ConnectionAdapters::PostgreSQLAdapter.prepend Adapter
  ActiveRecord::ConnectionAdapters::PostgreSQLAdapter::NATIVE_DATABASE_TYPES[:flake] = { name: 'flake' }
  ActiveRecord::ConnectionAdapters::PostgreSQL::TableDefinition.prepend Columns
  ActiveRecord::ConnectionAdapters::PostgreSQL::Table.prepend Columns
end
