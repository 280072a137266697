class EnableFlakeid < ActiveRecord::Migration[6.1]
  def change
    enable_extension 'flakeid'
  end
end
