//! `sequential.cpp`, `modulelist.cpp`, `moduledict.cpp`, `parameterlist.cpp` and `parameterdict.cpp`: modules made of modules.

mod moduledict;
mod modulelist;
mod parameterdict;
mod parameterlist;
mod sequential;
