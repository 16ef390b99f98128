#[automatically_derived]
impl ::turnstate::__private::CustomMessage for AppMessage {
    const ROLES: ::turnstate::__private::Roles = ::turnstate::__private::Roles::of(
            &[
                ::turnstate::__private::Role::new(
                    "notification",
                    ::turnstate::__private::concat!(
                        ::turnstate::__private::module_path!(),
                        "::AppMessage::Notification"
                    ),
                ),
                ::turnstate::__private::Role::new(
                    "bashExecution",
                    ::turnstate::__private::concat!(
                        ::turnstate::__private::module_path!(),
                        "::AppMessage::BashExecution"
                    ),
                ),
                ::turnstate::__private::Role::new(
                    "branchSummary",
                    ::turnstate::__private::concat!(
                        ::turnstate::__private::module_path!(),
                        "::AppMessage::BranchSummary"
                    ),
                ),
                ::turnstate::__private::Role::new(
                    "cameBack",
                    ::turnstate::__private::concat!(
                        ::turnstate::__private::module_path!(), "::AppMessage::CameBack"
                    ),
                ),
            ],
        )
        .extending(
            &[
                <other_crate::PluginMessage as ::turnstate::__private::CustomMessage>::ROLES,
            ],
        );
    fn role(&self) -> &::turnstate::__private::str {
        match self {
            Self::Notification { .. } => "notification",
            Self::BashExecution { .. } => "bashExecution",
            Self::BranchSummary { .. } => "branchSummary",
            Self::CameBack { .. } => "cameBack",
            Self::Plugin(field0) => {
                <other_crate::PluginMessage as ::turnstate::__private::CustomMessage>::role(
                    field0,
                )
            }
        }
    }
    fn project(&self) -> ::turnstate::__private::Projection {
        match self {
            Self::Notification { .. } => ::turnstate::__private::Projection::none(),
            Self::BashExecution {
                command: field0,
                output: field1,
                exclude_from_context: field2,
                timestamp: field3,
            } => {
                if *field2 {
                    ::turnstate::__private::Projection::none()
                } else {
                    ::turnstate::__private::at(
                        ::turnstate::__private::user(
                            ::turnstate::__private::format!(
                                "Ran `{command}`:\n{output}", command = field0, output =
                                field1
                            ),
                            &[],
                        ),
                        field3,
                    )
                }
            }
            Self::BranchSummary(field0) => {
                ::turnstate::__private::projection(BranchSummary::project(field0))
            }
            Self::CameBack { .. } => {
                ::turnstate::__private::system(
                    ::turnstate::__private::format!("The person came back."),
                )
            }
            Self::Plugin(field0) => {
                <other_crate::PluginMessage as ::turnstate::__private::CustomMessage>::project(
                    field0,
                )
            }
        }
    }
    fn timestamp(
        &self,
    ) -> ::turnstate::__private::Option<::turnstate::__private::Timestamp> {
        match self {
            Self::Notification { timestamp: field1, .. } => {
                ::turnstate::__private::timestamp(field1)
            }
            Self::BashExecution { timestamp: field3, .. } => {
                ::turnstate::__private::timestamp(field3)
            }
            Self::BranchSummary { .. } => ::turnstate::__private::None,
            Self::CameBack { .. } => ::turnstate::__private::None,
            Self::Plugin(field0) => {
                <other_crate::PluginMessage as ::turnstate::__private::CustomMessage>::timestamp(
                    field0,
                )
            }
        }
    }
    fn serialize_fields<__S: ::turnstate::__private::Serializer>(
        &self,
        serializer: __S,
    ) -> ::turnstate::__private::Result<__S::Ok, __S::Error> {
        #[derive(::turnstate::__private::serde::Serialize)]
        #[serde(crate = "::turnstate::__private::serde", remote = "AppMessage")]
        #[allow(dead_code)]
        #[serde(untagged)]
        enum __Fields {
            #[serde(rename_all = "camelCase")]
            Notification { text: String, timestamp: u64 },
            #[serde(rename_all = "camelCase")]
            BashExecution {
                command: String,
                output: String,
                #[serde(default)]
                exclude_from_context: bool,
                timestamp: u64,
            },
            #[serde(skip)]
            BranchSummary(BranchSummary),
            #[serde(skip)]
            CameBack,
            #[serde(skip)]
            Plugin(other_crate::PluginMessage),
        }
        match self {
            Self::BranchSummary(field0) => {
                <BranchSummary as ::turnstate::__private::Serialize>::serialize(
                    field0,
                    serializer,
                )
            }
            Self::CameBack { .. } => {
                ::turnstate::__private::Serializer::serialize_unit(serializer)
            }
            Self::Plugin(field0) => {
                <other_crate::PluginMessage as ::turnstate::__private::CustomMessage>::serialize_fields(
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
            "notification" => {
                #[derive(::turnstate::__private::serde::Deserialize)]
                #[serde(crate = "::turnstate::__private::serde")]
                #[serde(rename_all = "camelCase")]
                struct __Fields {
                    text: String,
                    timestamp: u64,
                }
                let __Fields { text: field0, timestamp: field1, .. } = <__Fields as ::turnstate::__private::Deserialize>::deserialize(
                    fields,
                )?;
                ::turnstate::__private::Ok(Self::Notification {
                    text: field0,
                    timestamp: field1,
                })
            }
            "bashExecution" => {
                #[derive(::turnstate::__private::serde::Deserialize)]
                #[serde(crate = "::turnstate::__private::serde")]
                #[serde(rename_all = "camelCase")]
                struct __Fields {
                    command: String,
                    output: String,
                    #[serde(default)]
                    exclude_from_context: bool,
                    timestamp: u64,
                }
                let __Fields {
                    command: field0,
                    output: field1,
                    exclude_from_context: field2,
                    timestamp: field3,
                    ..
                } = <__Fields as ::turnstate::__private::Deserialize>::deserialize(
                    fields,
                )?;
                ::turnstate::__private::Ok(Self::BashExecution {
                    command: field0,
                    output: field1,
                    exclude_from_context: field2,
                    timestamp: field3,
                })
            }
            "branchSummary" => {
                <BranchSummary as ::turnstate::__private::Deserialize<
                    '__de,
                >>::deserialize(fields)
                    .map(Self::BranchSummary)
            }
            "cameBack" => {
                ::turnstate::__private::no_fields(fields)?;
                ::turnstate::__private::Ok(Self::CameBack)
            }
            _ => {
                match ::turnstate::__private::extension_for(
                    role,
                    &[
                        <other_crate::PluginMessage as ::turnstate::__private::CustomMessage>::ROLES,
                    ],
                ) {
                    ::turnstate::__private::Some(0usize) => {
                        <other_crate::PluginMessage as ::turnstate::__private::CustomMessage>::deserialize_fields(
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
const _: () = <AppMessage as ::turnstate::__private::CustomMessage>::ROLES
    .check_extension(0usize);
