//! Types flake and flake_sealed in tokio-postgres and postgres: an i64 and a text of their own.
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

/// The text of a sealed id. On the wire it is eight bytes, and before them the number of the key where it has one.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct FlakeSealed(pub String);

impl<'a> FromSql<'a> for FlakeSealed {
    fn from_sql(_: &Type, raw: &'a [u8]) -> Result<Self, Box<dyn Error + Sync + Send>> {
        let (key, word) = raw.split_at(raw.len().saturating_sub(8));
        let word = u64::from_be_bytes(word.try_into()?);
        let key: String = key.iter().map(|number| format!("{number:x}")).collect();
        let digits = (0..13).rev().map(|n| char::from(b"0123456789abcdefghijklmnopqrstuv"[(word >> (5 * n)) as usize & 31]));
        Ok(FlakeSealed(key + &digits.collect::<String>()))
    }

    fn accepts(ty: &Type) -> bool {
        ty.name() == "flake_sealed"
    }
}

impl ToSql for FlakeSealed {
    fn to_sql(&self, _: &Type, out: &mut BytesMut) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        let split = self.0.len().saturating_sub(13);
        let (key, digits) = (self.0.get(..split).unwrap_or(""), self.0.get(split..).unwrap_or(""));
        if digits.len() != 13 || key.len() > 1 {
            return Err("a sealed id has 13 digits, and one more where its key has a number".into());
        }
        if !key.is_empty() {
            out.extend_from_slice(&[u8::from_str_radix(key, 16)?]);
        }
        out.extend_from_slice(&u64::from_str_radix(digits, 32)?.to_be_bytes());
        Ok(IsNull::No)
    }

    fn accepts(ty: &Type) -> bool {
        ty.name() == "flake_sealed"
    }

    tokio_postgres::types::to_sql_checked!();
}
