//! Bounds for async closures whose futures can be sent to another thread.
//!
//! On stable Rust the future of an `AsyncFn` cannot be bounded `Send`, and a capturing `async move` closure is no
//! `Fn(..) -> impl Future`. It is an `FnOnce(..) -> impl Future`, though, and `Clone` where its captures are. So hooks,
//! tools and models take `AsyncFnOnce` (which gives the closure its signature) together with one of these traits (which
//! gives `Send`) and `Clone`, and clone the closure for each call.

use std::future::Future;

macro_rules! send_async_fn {
    ($(#[$doc:meta] $name:ident($($arg:ident),*);)*) => {$(
        #[$doc]
        pub trait $name<$($arg,)* T>: FnOnce($($arg),*) -> <Self as $name<$($arg,)* T>>::Fut {
            /// The closure's future.
            type Fut: Future<Output = T> + Send;
        }

        impl<$($arg,)* T, F, Fut> $name<$($arg,)* T> for F
        where
            F: FnOnce($($arg),*) -> Fut,
            Fut: Future<Output = T> + Send,
        {
            type Fut = Fut;
        }
    )*};
}

send_async_fn! {
    /// An async closure of one argument; implemented for all that fit.
    SendAsyncFn1(A);
    /// An async closure of two arguments; implemented for all that fit.
    SendAsyncFn2(A, B);
    /// An async closure of three arguments; implemented for all that fit.
    SendAsyncFn3(A, B, C);
}
