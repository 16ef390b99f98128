#[automatically_derived]
impl crate::turnstate::__private::CustomMessage for Screenshot {
    const ROLES: crate::turnstate::__private::Roles = crate::turnstate::__private::Roles::of(
        &[
            crate::turnstate::__private::Role::new(
                "pluginScreenshot",
                crate::turnstate::__private::concat!(
                    crate ::turnstate::__private::module_path!(), "::Screenshot"
                ),
            ),
        ],
    );
    fn role(&self) -> &crate::turnstate::__private::str {
        match self {
            Self { .. } => "pluginScreenshot",
        }
    }
    fn project(&self) -> crate::turnstate::__private::Projection {
        match self {
            Self { title: field0, author: field1, image: field2, taken_at: field3 } => {
                crate::turnstate::__private::at(
                    crate::turnstate::__private::user(
                        crate::turnstate::__private::format!(
                            "{title}, taken by {0}:", & field1.name(), title = field0
                        ),
                        &[crate::turnstate::__private::content(field2)],
                    ),
                    field3,
                )
            }
        }
    }
    fn timestamp(
        &self,
    ) -> crate::turnstate::__private::Option<crate::turnstate::__private::Timestamp> {
        match self {
            Self { taken_at: field3, .. } => {
                crate::turnstate::__private::timestamp(field3)
            }
        }
    }
    fn serialize_fields<__S: crate::turnstate::__private::Serializer>(
        &self,
        serializer: __S,
    ) -> crate::turnstate::__private::Result<__S::Ok, __S::Error> {
        #[derive(crate::turnstate::__private::serde::Serialize)]
        #[serde(crate = "crate::turnstate::__private::serde", remote = "Screenshot")]
        #[allow(dead_code)]
        #[serde(rename_all = "camelCase")]
        struct __Fields {
            title: String,
            author: Author,
            image: Image,
            taken_at: u64,
        }
        __Fields::serialize(self, serializer)
    }
    fn deserialize_fields<'__de, __D: crate::turnstate::__private::Deserializer<'__de>>(
        role: &crate::turnstate::__private::str,
        fields: __D,
    ) -> crate::turnstate::__private::Result<Self, __D::Error> {
        match role {
            "pluginScreenshot" => {
                #[derive(crate::turnstate::__private::serde::Deserialize)]
                #[serde(crate = "crate::turnstate::__private::serde")]
                #[serde(rename_all = "camelCase")]
                struct __Fields {
                    title: String,
                    author: Author,
                    image: Image,
                    taken_at: u64,
                }
                let __Fields {
                    title: field0,
                    author: field1,
                    image: field2,
                    taken_at: field3,
                    ..
                } = <__Fields as crate::turnstate::__private::Deserialize>::deserialize(
                    fields,
                )?;
                crate::turnstate::__private::Ok(Self {
                    title: field0,
                    author: field1,
                    image: field2,
                    taken_at: field3,
                })
            }
            _ => crate::turnstate::__private::unknown_role(role),
        }
    }
}
