//! `#[derive(Module)]`: tells flambeau which parts a model has. See `flambeau::nn::Module` for what it gives.
//! `#[derive(Settings)]`: what bindings and programs can set of a struct by name.

mod settings;

use proc_macro2::{Ident, TokenStream};
use quote::{ToTokens, quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{Data, DeriveInput, Error, Expr, ExprPath, Field, Fields, LitStr, Result};

/// Makes a struct a `flambeau::nn::Module` whose parts are its fields, under their names.
///
/// On a field, `#[module(skip)]` leaves it out, `#[module(name = "…")]` renames it, and `#[module(flatten)]` shows its
/// parts as if they were the struct's own. On the struct, `#[module(describe = path)]` names a function `&Self ->
/// String` for what stands between the parentheses in the printed summary, and `#[module(type_name = expression)]` gives
/// the `&str` before them, where that is not the struct's name.
#[proc_macro_derive(Module, attributes(module))]
pub fn derive_module(input: proc_macro::TokenStream) -> proc_macro::TokenStream {
    let input = syn::parse_macro_input!(input as DeriveInput);
    expand(input).unwrap_or_else(Error::into_compile_error).into()
}

/// Makes the public fields of a struct settings that scripts can give by name, over the struct's defaults.
///
/// On a field, `#[setting(name = "…")]` gives it another name besides its own, which is the one that scripts see,
/// `#[setting(flatten)]` takes the settings of a struct within the struct as its own, and `#[setting(skip)]` leaves it out.
#[proc_macro_derive(Settings, attributes(setting))]
pub fn derive_settings(input: proc_macro::TokenStream) -> proc_macro::TokenStream {
    let input = syn::parse_macro_input!(input as DeriveInput);
    settings::expand(input).unwrap_or_else(Error::into_compile_error).into()
}

fn expand(input: DeriveInput) -> Result<TokenStream> {
    let Data::Struct(data) = &input.data else {
        return Err(Error::new(input.ident.span(), "derive(Module) takes structs"));
    };
    let visits = visits(&data.fields)?;
    let attributes = StructAttributes::of(&input)?;
    let describe = attributes.describe.map(|function| {
        quote! {
            fn describe(&self) -> ::std::string::String {
                #function(self)
            }
        }
    });
    let ident = &input.ident;
    let name =
        attributes.type_name.map_or_else(|| ident.to_string().to_token_stream(), Expr::into_token_stream);
    let mut generics = input.generics.clone();
    for parameter in generics.type_params_mut() {
        parameter.bounds.push(syn::parse_quote!(::flambeau::nn::Module));
    }
    let (impl_generics, type_generics, where_clause) = generics.split_for_impl();
    Ok(quote! {
        impl #impl_generics ::flambeau::nn::Module for #ident #type_generics #where_clause {
            fn parts<'module>(
                &'module self,
                visit: &mut dyn ::std::ops::FnMut(&str, ::flambeau::nn::Part<'module>),
            ) {
                #(#visits)*
            }

            fn type_name(&self) -> ::std::option::Option<&str> {
                ::std::option::Option::Some(#name)
            }

            #describe
        }
    })
}

/// One call of the visitor per field.
fn visits(fields: &Fields) -> Result<Vec<TokenStream>> {
    let mut visits = Vec::new();
    for (index, field) in fields.iter().enumerate() {
        let attributes = FieldAttributes::of(field, "module")?;
        if attributes.skip {
            continue;
        }
        let (access, field_name) = match &field.ident {
            Some(ident) => (quote!(self.#ident), plain(ident)),
            None => {
                let index = syn::Index::from(index);
                (quote!(self.#index), index.index.to_string())
            }
        };
        // The parts of a flattened field are visited under no name of its own.
        let name = match attributes.flatten {
            true => String::new(),
            false => attributes.name.unwrap_or(field_name),
        };
        visits.push(
            quote_spanned! { field.ty.span() => visit(#name, ::flambeau::nn::Part::Module(&#access)); },
        );
    }
    Ok(visits)
}

/// The identifier without the `r#` of raw ones.
fn plain(ident: &Ident) -> String {
    let text = ident.to_string();
    text.strip_prefix("r#").map_or(text.clone(), str::to_owned)
}

/// What both derives take on a field.
#[derive(Default)]
struct FieldAttributes {
    skip: bool,
    flatten: bool,
    name: Option<String>,
}

impl FieldAttributes {
    /// Those in the attribute of a derive, `module` or `setting`.
    fn of(field: &Field, derive: &str) -> Result<FieldAttributes> {
        let mut found = FieldAttributes::default();
        for attribute in field.attrs.iter().filter(|attribute| attribute.path().is_ident(derive)) {
            attribute.parse_nested_meta(|meta| {
                if meta.path.is_ident("skip") {
                    found.skip = true;
                } else if meta.path.is_ident("flatten") {
                    found.flatten = true;
                } else if meta.path.is_ident("name") {
                    found.name = Some(meta.value()?.parse::<LitStr>()?.value());
                } else {
                    return Err(meta.error("a field takes `skip`, `flatten` or `name = \"…\"`"));
                }
                Ok(())
            })?;
        }
        Ok(found)
    }
}

#[derive(Default)]
struct StructAttributes {
    describe: Option<ExprPath>,
    type_name: Option<Expr>,
}

impl StructAttributes {
    fn of(input: &DeriveInput) -> Result<StructAttributes> {
        let mut found = StructAttributes::default();
        for attribute in input.attrs.iter().filter(|attribute| attribute.path().is_ident("module")) {
            attribute.parse_nested_meta(|meta| {
                if meta.path.is_ident("describe") {
                    found.describe = Some(meta.value()?.parse()?);
                } else if meta.path.is_ident("type_name") {
                    found.type_name = Some(meta.value()?.parse()?);
                } else {
                    return Err(meta.error("a struct takes `describe = path` or `type_name = expression`"));
                }
                Ok(())
            })?;
        }
        Ok(found)
    }
}
