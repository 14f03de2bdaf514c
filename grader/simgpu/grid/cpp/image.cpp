// Where the library that an address belongs to lies in memory, and this thread's copy of its __thread variables.
#include <cstdint>
#ifdef __APPLE__
#include <dlfcn.h>
#include <mach-o/loader.h>
#else
#include <link.h>
#endif

namespace {
struct Image { uint64_t address, low, high, tls_low, tls_high; };

void include(Image& image, uint64_t low, uint64_t high) {
    if (low < image.low) image.low = low;
    if (high > image.high) image.high = high;
}
}  // namespace

extern "C" void grid_image(uint64_t address, uint64_t* bounds) {
    Image image{address, ~0ull, 0, 0, 0};
#ifdef __APPLE__
    Dl_info info;
    if (dladdr(reinterpret_cast<void*>(address), &info)) {
        const mach_header_64* header = static_cast<const mach_header_64*>(info.dli_fbase);
        const uint64_t base = reinterpret_cast<uint64_t>(header);
        const char* command = reinterpret_cast<const char*>(header + 1);
        for (uint32_t i = 0; i < header->ncmds; i++) {
            const segment_command_64* segment = reinterpret_cast<const segment_command_64*>(command);
            if (segment->cmd == LC_SEGMENT_64 && segment->vmsize && segment->fileoff + segment->filesize)
                include(image, base + segment->vmaddr, base + segment->vmaddr + segment->vmsize);
            command += segment->cmdsize;
        }
    }
#else
    dl_iterate_phdr([](dl_phdr_info* info, size_t, void* argument) {
        Image& found = *static_cast<Image*>(argument);
        Image here{found.address, ~0ull, 0, 0, 0};
        for (int i = 0; i < info->dlpi_phnum; i++) {
            const auto& part = info->dlpi_phdr[i];
            if (part.p_type == PT_LOAD) include(here, info->dlpi_addr + part.p_vaddr, info->dlpi_addr + part.p_vaddr + part.p_memsz);
            if (part.p_type == PT_TLS) {
                here.tls_low = reinterpret_cast<uint64_t>(info->dlpi_tls_data);
                here.tls_high = here.tls_low + part.p_memsz;
            }
        }
        if (found.address < here.low || found.address >= here.high) return 0;
        found = here;
        return 1;
    }, &image);
#endif
    bounds[0] = image.low;
    bounds[1] = image.high;
    bounds[2] = image.tls_low;
    bounds[3] = image.tls_high;
}
