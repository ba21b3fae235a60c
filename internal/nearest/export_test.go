package nearest

var CountEdits = countEdits
