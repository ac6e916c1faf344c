/* folder.c: the whole of it, and files that are complete or not there (gguf2hf.h). Build host. */
#include "tools/gguf2hf/gguf2hf.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PATH_BYTES = 4096 };

enum status gguf2hf_write(const char *folder, const char *name, json_t *root)
{
    char path[PATH_BYTES], draft[PATH_BYTES + 8];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    snprintf(draft, sizeof draft, "%s.tmp", path);
    /* 15 digits: decimal numbers of that many come back as they were stated. */
    int failed = root == NULL ? -1 : json_dump_file(root, draft, JSON_INDENT(2) | JSON_REAL_PRECISION(15));
    json_decref(root);
    if (failed != 0 || rename(draft, path) != 0) {
        int reason = errno;
        unlink(draft);
        return fail(E_READ, "%s: cannot be written: %s", path, strerror(reason));
    }
    return OK;
}

static enum status make_folder(const char *folder)
{
    static const char *const models[] = { "model.safetensors", "model.safetensors.index.json" };
    char path[PATH_BYTES];
    if (strlen(folder) > PATH_BYTES - 100)
        return fail(E_USAGE, "the folder's path is longer than %d bytes", PATH_BYTES - 100);
    if (mkdir(folder, 0777) != 0 && errno != EEXIST)
        return fail(E_READ, "%s: %s", folder, strerror(errno));
    for (int64_t i = 0; i < ELEMENTS_OF(models); i++) {
        snprintf(path, sizeof path, "%s/%s", folder, models[i]);
        if (access(path, F_OK) == 0)
            return fail(E_USAGE, "%s: there is a model already; name another folder", path);
    }
    return OK;
}

enum status gguf2hf(const char *path, const char *folder, enum tensor_type type)
{
    struct gguf gguf;
    TRY(gguf_open(&gguf, path));
    enum status status = make_folder(folder);
    if (status == OK)
        status = gguf2hf_config(&gguf, folder, type);
    if (status == OK)
        status = gguf2hf_tokenizer(&gguf, folder);
    gguf_close(&gguf);
    return status != OK ? status : gguf2hf_weights(path, folder, type);
}
