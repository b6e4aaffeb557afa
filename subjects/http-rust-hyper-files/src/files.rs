//! The files of a folder, kept in memory and looked at again after a second.

use std::collections::HashMap;
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, RwLock};
use std::time::{Duration, Instant, UNIX_EPOCH};

use bytes::Bytes;
use hyper::header::HeaderValue;

const FRESH: Duration = Duration::from_secs(1);

/// A file in memory.
pub struct File {
    checked: Instant,
    pub text: Bytes,
    pub kind: HeaderValue,
    pub tag: HeaderValue,
    pub modified: HeaderValue,
}

pub struct Files {
    folder: PathBuf,
    kept: RwLock<HashMap<String, Arc<File>>>,
}

impl Files {
    pub fn new(folder: PathBuf) -> Files {
        Files {
            folder,
            kept: RwLock::new(HashMap::new()),
        }
    }

    /// Returns the file at the path of a request.
    pub fn find(&self, path: &str) -> Option<Arc<File>> {
        if let Some(file) = self.kept.read().unwrap().get(path) {
            if file.checked.elapsed() < FRESH {
                return Some(file.clone());
            }
        }
        let found = self.read(path).map(Arc::new);
        let mut kept = self.kept.write().unwrap();
        match &found {
            Some(file) => kept.insert(path.to_string(), file.clone()),
            None => kept.remove(path),
        };
        found
    }

    fn read(&self, path: &str) -> Option<File> {
        let name = Path::new(path.strip_prefix('/')?);
        if !name.components().all(|c| matches!(c, Component::Normal(_))) {
            return None;
        }
        let name = self.folder.join(name);
        let about = std::fs::metadata(&name).ok().filter(|m| m.is_file())?;
        let modified = about.modified().ok()?;
        let age = modified.duration_since(UNIX_EPOCH).ok()?;
        let kind = match name.extension()?.to_str()? {
            "html" => "text/html; charset=utf-8",
            "txt" => "text/plain; charset=utf-8",
            _ => "application/octet-stream",
        };
        let tag = format!("\"{:x}-{:x}\"", age.as_nanos(), about.len());
        Some(File {
            checked: Instant::now(),
            text: std::fs::read(&name).ok()?.into(),
            kind: HeaderValue::from_static(kind),
            tag: tag.parse().ok()?,
            modified: httpdate::fmt_http_date(modified).parse().ok()?,
        })
    }
}
