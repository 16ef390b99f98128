#[automatically_derived]
impl<P, T> ::turnstate::__private::CustomMessage for Host<P, T>
where
    P: CustomMessage,
    T: Payload,
{
    const ROLES: ::turnstate::__private::Roles = ::turnstate::__private::Roles::of(
            &[
                ::turnstate::__private::Role::new(
                    "with_payload",
                    ::turnstate::__private::concat!(
                        ::turnstate::__private::module_path!(), "::Host::WithPayload"
                    ),
                ),
            ],
        )
        .extending(&[<P as ::turnstate::__private::CustomMessage>::ROLES]);
    fn role(&self) -> &::turnstate::__private::str {
        match self {
            Self::WithPayload { .. } => "with_payload",
            Self::Plugin(field0) => {
                <P as ::turnstate::__private::CustomMessage>::role(field0)
            }
        }
    }
    fn project(&self) -> ::turnstate::__private::Projection {
        match self {
            Self::WithPayload { payload: field0, times: field1 } => {
                ::turnstate::__private::at(
                    ::turnstate::__private::projection(shown(field0, *field1)),
                    &field1.0,
                )
            }
            Self::Plugin(field0) => {
                <P as ::turnstate::__private::CustomMessage>::project(field0)
            }
        }
    }
    fn timestamp(
        &self,
    ) -> ::turnstate::__private::Option<::turnstate::__private::Timestamp> {
        match self {
            Self::WithPayload { times: field1, .. } => {
                ::turnstate::__private::timestamp(&field1.0)
            }
            Self::Plugin(field0) => {
                <P as ::turnstate::__private::CustomMessage>::timestamp(field0)
            }
        }
    }
    fn serialize_fields<__S: ::turnstate::__private::Serializer>(
        &self,
        serializer: __S,
    ) -> ::turnstate::__private::Result<__S::Ok, __S::Error> {
        #[derive(::turnstate::__private::serde::Serialize)]
        #[serde(crate = "::turnstate::__private::serde", remote = "Host")]
        #[serde(bound = "")]
        #[allow(dead_code)]
        #[serde(untagged)]
        enum __Fields<P, T>
        where
            P: CustomMessage,
            T: Payload,
        {
            #[serde(rename_all = "camelCase")]
            WithPayload { payload: T, times: (u64, u64) },
            #[serde(skip)]
            Plugin(P),
        }
        match self {
            Self::Plugin(field0) => {
                <P as ::turnstate::__private::CustomMessage>::serialize_fields(
                    field0,
                    serializer,
                )
            }
            _ => __Fields::serialize(self, serializer),
        }
    }
    fn deserialize_fields<'__de, __D: ::turnstate::__private::Deserializer<'__de>>(
        role: &::turnstate::__private::str,
        fields: __D,
    ) -> ::turnstate::__private::Result<Self, __D::Error> {
        match role {
            "with_payload" => {
                #[derive(::turnstate::__private::serde::Deserialize)]
                #[serde(crate = "::turnstate::__private::serde")]
                #[serde(bound = "")]
                #[serde(rename_all = "camelCase")]
                struct __Fields<P, T>
                where
                    P: CustomMessage,
                    T: Payload,
                {
                    payload: T,
                    times: (u64, u64),
                    #[serde(skip)]
                    __marker: ::turnstate::__private::PhantomData<fn() -> (P, T)>,
                }
                let __Fields { payload: field0, times: field1, .. } = <__Fields<
                    P,
                    T,
                > as ::turnstate::__private::Deserialize>::deserialize(fields)?;
                ::turnstate::__private::Ok(Self::WithPayload {
                    payload: field0,
                    times: field1,
                })
            }
            _ => {
                match ::turnstate::__private::extension_for(
                    role,
                    &[<P as ::turnstate::__private::CustomMessage>::ROLES],
                ) {
                    ::turnstate::__private::Some(0usize) => {
                        <P as ::turnstate::__private::CustomMessage>::deserialize_fields(
                                role,
                                fields,
                            )
                            .map(Self::Plugin)
                    }
                    _ => ::turnstate::__private::unknown_role(role),
                }
            }
        }
    }
}
