//! `#[derive(Settings)]`: what can be set of a struct by name, over its defaults. See `flambeau::settings`.

use crate::{FieldAttributes, plain};
use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{Attribute, Data, DeriveInput, Error, Expr, ExprLit, Lit, Meta, Result};

pub fn expand(input: DeriveInput) -> Result<TokenStream> {
    let Data::Struct(data) = &input.data else {
        return Err(Error::new(input.ident.span(), "derive(Settings) takes structs"));
    };
    let (mut fills, mut lists) = (Vec::new(), Vec::new());
    for field in &data.fields {
        let Some(ident) = &field.ident else {
            return Err(Error::new(field.span(), "derive(Settings) takes fields with names"));
        };
        let attributes = FieldAttributes::of(field, "setting")?;
        if attributes.skip {
            continue;
        }
        if attributes.flatten {
            fills.push(
                quote_spanned! { field.ty.span() => ::flambeau::settings::Settings::fill(&mut self.#ident, given); },
            );
            lists.push(quote! { fields.extend(::flambeau::settings::Settings::fields(&self.#ident)); });
            continue;
        }
        let own = plain(ident);
        let name = attributes.name.as_ref().unwrap_or(&own);
        let names = if *name == own { vec![&own] } else { vec![name, &own] };
        fills.extend(
            names
                .iter()
                .map(|name| quote_spanned! { field.ty.span() => given.set(#name, &mut self.#ident); }),
        );
        let about = about(&field.attrs);
        lists.push(quote! {
            fields.push(::flambeau::settings::SettingField::of(&[#(#names),*], #about, &self.#ident));
        });
    }
    let ident = &input.ident;
    let (impl_generics, type_generics, where_clause) = input.generics.split_for_impl();
    Ok(quote! {
        impl #impl_generics ::flambeau::settings::Settings for #ident #type_generics #where_clause {
            fn fill(&mut self, given: &mut ::flambeau::settings::SettingMap) {
                #(#fills)*
            }

            fn fields(&self) -> ::std::vec::Vec<::flambeau::settings::SettingField> {
                let mut fields = ::std::vec::Vec::new();
                #(#lists)*
                fields
            }
        }
    })
}

/// The docs of a field, as one paragraph.
fn about(attributes: &[Attribute]) -> String {
    let lines = attributes.iter().filter_map(|attribute| match &attribute.meta {
        Meta::NameValue(pair) if pair.path.is_ident("doc") => match &pair.value {
            Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) => Some(text.value().trim().to_string()),
            _ => None,
        },
        _ => None,
    });
    lines.collect::<Vec<_>>().join(" ")
}
