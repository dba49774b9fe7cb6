//! The formats of user data, told apart as cloud-init does it.

/// What user data, or a part of it, is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    /// A mapping in YAML.
    CloudConfig,
    /// A list of parts in YAML.
    Archive,
    /// Changes to the cloud-config before it, in JSON.
    Patch,
    /// A script for the end of the first boot.
    Script,
    /// A script for the beginning of every boot.
    BootHook,
    /// Addresses of user data.
    Include,
    /// Addresses of user data that are asked once.
    IncludeOnce,
    /// Any of the others, to be rendered first.
    Template,
    /// Code that reads further parts.
    PartHandler,
    /// A MIME message.
    Message,
}

/// How each begins; where one is the beginning of another, the longer one is first.
const BEGINNINGS: &[(&str, Format)] = &[
    ("#cloud-config-archive", Format::Archive),
    ("#cloud-config-jsonp", Format::Patch),
    ("#cloud-config", Format::CloudConfig),
    ("#cloud-boothook", Format::BootHook),
    ("#include-once", Format::IncludeOnce),
    ("#include", Format::Include),
    ("#part-handler", Format::PartHandler),
    ("## template: jinja", Format::Template),
    ("#!", Format::Script),
];

/// What a part of these types is, cloud-init finds out by its beginning.
const OPEN_TYPES: &[&str] = &["text/plain", "text/x-not-multipart", "text/x-shellscript"];

/// What cloud-init unpacks before it looks.
const PACKED_TYPES: &[&str] = &["gzip", "gzip-compressed", "gzipped", "x-gunzip", "x-gzip", "x-gzip-compressed"];

impl Format {
    /// By the beginning, whatever its case and the blanks before it. Messages begin otherwise.
    pub(super) fn of_text(text: &str) -> Option<Self> {
        let text = text.trim_start();
        let begins = |with: &str| text.get(..with.len()).is_some_and(|start| start.eq_ignore_ascii_case(with));
        BEGINNINGS.iter().find(|(beginning, _)| begins(beginning)).map(|(_, format)| *format)
    }

    /// By the declared type, or by the beginning where that says nothing.
    pub(super) fn of_part(content_type: &str, text: &str) -> Option<Self> {
        if OPEN_TYPES.contains(&content_type) {
            return Self::of_text(text);
        }
        BEGINNINGS.iter().map(|(_, format)| *format).find(|format| format.content_type() == content_type)
    }

    /// The type a part of this format is declared as.
    pub(super) fn content_type(self) -> &'static str {
        match self {
            Self::CloudConfig => "text/cloud-config",
            Self::Archive => "text/cloud-config-archive",
            Self::Patch => "text/cloud-config-jsonp",
            Self::Script => "text/x-shellscript",
            Self::BootHook => "text/cloud-boothook",
            Self::Include => "text/x-include-url",
            Self::IncludeOnce => "text/x-include-once-url",
            Self::Template => "text/jinja2",
            Self::PartHandler => "text/part-handler",
            Self::Message => "multipart/mixed",
        }
    }
}

/// Whether a part of this type is compressed.
pub(super) fn is_packed(content_type: &str) -> bool {
    let packed = content_type.strip_prefix("application/");
    packed.is_some_and(|kind| PACKED_TYPES.contains(&kind) || kind.starts_with("x-compress"))
}
