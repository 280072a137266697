//! Type flake in tokio-postgres and postgres: an i64 of its own.
use bytes::BytesMut;
use std::error::Error;
use tokio_postgres::types::{FromSql, IsNull, ToSql, Type};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Flake(pub i64);

/// bigint too: `WHERE id = $1` and `flake[] = ANY ($1)` make the parameter a bigint.
fn accepts(ty: &Type) -> bool {
    ty.name() == "flake" || *ty == Type::INT8
}

impl<'a> FromSql<'a> for Flake {
    fn from_sql(_: &Type, raw: &'a [u8]) -> Result<Self, Box<dyn Error + Sync + Send>> {
        i64::from_sql(&Type::INT8, raw).map(Flake)
    }

    fn accepts(ty: &Type) -> bool {
        accepts(ty)
    }
}

impl ToSql for Flake {
    fn to_sql(&self, _: &Type, out: &mut BytesMut) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        self.0.to_sql(&Type::INT8, out)
    }

    fn accepts(ty: &Type) -> bool {
        accepts(ty)
    }

    tokio_postgres::types::to_sql_checked!();
}
