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

/// What every closure can do that is used as a hook, a listener, a tool or a model: be cloned for each call, and go to
/// other threads.
///
/// Write `async |call, cx| ..`, with `move` where it captures. What it captures is shared through an `Arc`: a bare `Mutex`
/// is not `Clone`, and a plain counter would be counted up in a copy.
///
/// A closure that returns a future, `|call, cx| async move { .. }`, is refused as a hook, since its future could not borrow
/// what the hook is shown. The compiler says
///
/// * `implementation of AsyncFnOnce is not general enough`, where its body leaves the arguments alone;
/// * `type annotations needed` (E0282), where its body uses one: do not add the types that are asked for, since then
/// * `lifetime may not live long enough` is what remains.
///
/// A closure that is not async at all is refused too: what it gives `is not a future`.
#[diagnostic::on_unimplemented(
    message = "this closure cannot be cloned for each call and go to other threads",
    label = "it captures something that is not `Clone + Send + Sync + 'static`",
    note = "what it captures is shared through an `Arc`: an `Arc<Mutex<..>>`, an `Arc<AtomicUsize>`, the sender of a channel",
    note = "write `async move |..| ..`, so that it owns what it captures"
)]
pub trait SharedClosure: Clone + Send + Sync + 'static {}

#[diagnostic::do_not_recommend]
impl<F: Clone + Send + Sync + 'static> SharedClosure for F {}
